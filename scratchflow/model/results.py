"""What each verb hands back when it worked: the `data` of its `summary` line."""

from __future__ import annotations

from typing import Any

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all results."""


class VersionShown(Result, frozen=True):
    """`--version`."""

    version: str


class HelpShown(Result, frozen=True):
    """`--help` under `--json`: the text that a person would have seen."""

    help: str


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


# The schema lists these by verb; a verb without an entry here has no machine-readable result.
RESULTS_BY_OP: dict[str, type[Result]] = {
    "version": VersionShown,
    "help": HelpShown,
    "config show": ConfigShown,
    "config path": ConfigPath,
    "config set": ConfigChanged,
}
