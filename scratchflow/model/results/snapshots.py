"""`snapshots`: list, show, cat, history, diff, verify, prune, keep."""

from typing import Literal

import msgspec

from scratchflow.model.results.base import OnProfiles, Result
from scratchflow.model.snapshot import Manifest, SnapshotKind


class SnapshotRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `snapshots list`."""

    id: str
    time: str
    kind: SnapshotKind
    parent: str | None
    node: str
    files: int
    bytes: int
    stored_bytes: int
    verified: bool
    message: str
    damaged: str | None
    """What is known to be wrong with it: an archive is not there, or a check or a copy found damage. Null when nothing is."""
    perhaps_damaged: str | None = None
    """It reads from a damaged archive, perhaps only what is whole there: `snapshots verify` says whether."""
    fork: bool = False
    """Work that went another way than the newest snapshot, or is `beside`."""
    beside: bool = False
    """A copy that was not the newest work when it was taken, like that of another node of the job: it is never `latest`."""
    named: bool = False
    """Whether a person gave it its message, which keeps it for `backup.keep_named`; other messages only say why it was taken."""
    stays: list[str] = []
    """Why it stays though no plain rule keeps it: `kept`, `named`, `safety`, `fork`, `full` and others."""
    shown_message: str = ""
    """The message as `snapshots list` prints it, with short ids."""
    marks: list[str] = []
    """What `snapshots list` prints in brackets: that it is a `fork`, and why it stays, in words."""


class SnapshotsListed(Result, frozen=True):
    """`snapshots list`, oldest first. `now` is the time by the same clocks: ages are counted up to it."""

    snapshots: list[SnapshotRow]
    now: str | None = None
    store_bytes: int = 0
    """What all of them take together in the store, as it is now."""


class SnapshotsOfProfile(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshots of one profile, as `snapshots list` has them."""

    profile: str
    login: str
    snapshots: list[SnapshotRow]
    now: str | None = None
    store_bytes: int = 0


class SnapshotsOfAll(OnProfiles, frozen=True):
    """`snapshots list --all-profiles`."""

    profiles: list[SnapshotsOfProfile]


class PathEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A path inside a snapshot."""

    kind: Literal["file", "directory", "link"]
    mode: str
    size: int
    mtime: str
    path: str | None = None
    path_b64: str | None = None
    typed: str | None = None
    """What commands take for a name that is not UTF-8: a glob with `?` for each such byte."""
    target: str | None = None


class SnapshotShown(Result, frozen=True):
    """`snapshots show`: the manifest, and with a path the content of a directory in it."""

    manifest: Manifest
    damaged: str | None
    entries: list[PathEntry]
    perhaps_damaged: str | None = None


class FileShown(Result, frozen=True):
    """`snapshots cat`: the file that was found. With `--json` its content is here, otherwise on stdout."""

    snapshot: str
    size: int
    mode: str
    mtime: str
    content_b64: str = ""


class FileVersion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one path was from a snapshot on; of one that was deleted there is no more than that."""

    snapshot: str
    """The first that has it so."""
    time: str
    last: str
    """The last that has it so without another version in between."""
    change: Literal["added", "changed", "mode", "deleted"]
    """`mode`: the permissions alone. A path that was away is `added` again."""
    kind: Literal["file", "directory", "link"] | None = None
    size: int | None = None
    mode: str | None = None
    mode_before: str | None = None
    """Of the version before, where it differs."""
    mtime: str | None = None
    target: str | None = None
    fork: bool = False
    """Only forks have it so: the line of the newest snapshot went another way."""


class PathHistory(Result, frozen=True):
    """`snapshots history`, oldest first. `now` is the time by the same clocks: ages are counted up to it."""

    versions: list[FileVersion]
    checked: int
    """So many snapshots were looked at."""
    path: str | None = None
    path_b64: str | None = None
    now: str | None = None


class PathChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A path that differs between two snapshots, or a snapshot and the workspace."""

    action: Literal["added", "removed", "changed"]
    path: str | None = None
    path_b64: str | None = None


class DirectoryChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A directory that was added or removed with all that is in it."""

    action: Literal["added", "removed", "changed"]
    files: int
    bytes: int
    path: str | None = None
    path_b64: str | None = None


# Stands where `snapshots diff` has an id, for the workspace as it is now.
WORKSPACE = "workspace"


class SnapshotsDiffed(Result, frozen=True):
    """`snapshots diff`; `newer` is an id, or the word `workspace`."""

    older: str
    newer: str
    added: int
    removed: int
    changed: int
    paths: list[PathChange]
    roots: list[str] = []
    """The workspace, and what is saved with it: each path begins with one of them."""
    directories: list[DirectoryChange] = []
    """Those that were added or removed as a whole. `paths` has all that is in them, too."""


class BadSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot that this scratchflow would not restore, and why."""

    id: str
    reason: str


class SnapshotsVerified(Result, frozen=True):
    """`snapshots verify`."""

    checked: int
    bad: list[BadSnapshot]
    # Made by a newer scratchflow than this one, which cannot check them. They do not count as checked, nor as damaged.
    newer: list[BadSnapshot] = []
    # Those that need an archive which may not be opened; not counted either.
    closed: list[BadSnapshot] = []

    def exit_code(self) -> int:
        """31 as soon as one is damaged or could not be checked, though the check itself worked."""
        return 31 if self.bad or self.newer or self.closed else 0


# Why the others stay when snapshots are removed by id.
NOT_ASKED_FOR = "not asked for"


class SnapshotsPruned(Result, frozen=True):
    """`snapshots prune`."""

    kept: dict[str, list[str]]
    removed: list[str]
    freed_bytes: int
    blocked: str | None
    dry_run: bool
    spare: str | None = None
    """When the rules keep everything: the snapshot that frees the most when it is pruned by id, of those that may be proposed.

    Never the newest one, nor one that is named, marked, a safety snapshot or the tip of a fork."""
    spare_bytes: int = 0
    """What removing `spare` would free."""
    next_is_full: bool = False
    """Whether the newest work loses its last full snapshot: the next backup that finds changes stores every file anew."""

    def exit_code(self) -> int:
        """That of a damaged snapshot, when one keeps everything from being removed."""
        return 31 if self.blocked else 0


class SnapshotsMarked(Result, frozen=True):
    """`snapshots keep` and `unkeep`: those that were asked for, and those for which it is news."""

    snapshots: list[str]
    changed: list[str]
    kept: bool
    dry_run: bool = False


class SnapshotsFetched(Result, frozen=True):
    """`snapshots import --from-mirror`: from the profile's mirror into its store."""

    mirror: str
    # Those that were meant; what was here already among them.
    snapshots: list[str]
    fetched: list[str]
    fetched_bytes: int
    duration_s: float
    # Why manifests there cannot be used, by snapshot: damaged, half because a run was cut off, or of a newer version.
    unreadable: dict[str, str] = {}
    # The store holds a part of them for other snapshots, under the same name, or another archive.
    blocked: list[str] = []
    # The newest snapshot of the store now.
    newest: str | None = None
    dry_run: bool = False
    # Snapshots that were damaged in the store, and are whole now; those that were not asked for, too.
    mended: list[str] = []
    # An archive that they need is damaged or missing on the mirror.
    damaged: list[str] = []
    # What lies in the store under a name that they need and is no file of ours, by snapshot.
    in_the_way: dict[str, str] = {}

    def exit_code(self) -> int:
        """That of damage, when anything was left out because of it."""
        return 31 if self.damaged or self.unreadable or self.in_the_way else 0
