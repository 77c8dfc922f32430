"""`config` and `profiles`."""

from typing import Any, Literal

import msgspec

from scratchflow.model.results.base import Result


class ConfigShown(Result, frozen=True):
    """`config show`: the profile in force, and with `--origin` where each value came from."""

    path: str
    profile: str
    profiles: list[str]
    values: dict[str, Any]
    origins: dict[str, str] | None = None


class ConfigPath(Result, frozen=True):
    """`config path`."""

    path: str
    exists: bool


class ConfigChanged(Result, frozen=True):
    """`config set`: what changed, or with `--dry-run` what would."""

    path: str
    key: str
    changed: bool
    dry_run: bool
    diff: str
    takes_effect: str = ""
    """When it does, for what already runs; empty when that is at once."""
    stays: list[str] = []
    """Where the snapshots made so far stay, when commands look elsewhere now, and how to reach them."""
    removed_alias: str | None = None
    """The ssh alias that the profile had and no profile uses any more; its file is removed."""


class ConfigValue(Result, frozen=True):
    """`config get`: one value in force; null when the key is not set."""

    key: str
    value: Any
    origin: str


class ImportedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the other program's file, and what became of it."""

    key: str
    value: str
    """In a few words; `***` where it may be a secret."""
    taken: bool
    settings: dict[str, Any] = {}
    """The keys of the profile that it became, with their values."""
    reason: str = ""
    """Why it was not taken, or a remark."""


class ImportedContext(msgspec.Struct, frozen=True, kw_only=True):
    """A context of the other program's file, and the profile that it became."""

    name: str
    profile: str | None
    """None when it became none: `reason` says why."""
    state: Literal["new", "there_already", "not_ours"]
    keys: list[ImportedKey]
    own: dict[str, str] = {}
    """Names that the profile got because another one has the usual ones."""
    reason: str = ""


class ConfigImported(Result, frozen=True):
    """`config import`: every context and key of the file, and what changed or would."""

    source: str
    path: str
    contexts: list[ImportedContext]
    keys: list[ImportedKey]
    """Those outside of contexts."""
    changed: bool
    dry_run: bool
    diff: str


class ProfileRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `profiles list`."""

    name: str
    is_used: bool
    """The one that commands without `--profile` use."""
    login: str
    scheduler: str
    alias: str
    workspace: str
    store: str
    built_in: bool = False
    partition: str = ""
    time: str = ""
    node: str | None = None
    """Where the ssh alias leads, as this machine knows it; the cluster is not asked."""


class ProfilesListed(Result, frozen=True):
    """`profiles list`."""

    profiles: list[ProfileRow]


class ProfileWritten(Result, frozen=True):
    """`profiles use`, `add` and `copy`: what changed in the file."""

    profile: str
    path: str
    changed: bool
    diff: str
    dry_run: bool = False
    new_workspace: str = ""
    """Of a copy: the workspace that it has for itself, which is empty at first."""


class ProfileRemoved(Result, frozen=True):
    """`profiles remove`, and what it leaves: each with where it is or how to remove it."""

    profile: str
    path: str
    diff: str
    stays: list[str]
    default_profile: str
    """The one that commands use from now on; empty when that is not said."""
    alias: str | None = None
    """The ssh alias that goes with it; None when there is none, or another profile uses it."""
    file_removed: bool = False
    """Whether nothing was left in the configuration file, which is gone then."""
    dry_run: bool = False
