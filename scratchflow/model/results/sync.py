"""`sync`."""

from typing import Literal

import msgspec

from scratchflow.model.results.base import ProfileFailure, Result


class SyncSide(Result, frozen=True):
    """`sync look`: one home, and the unison of its login host."""

    host: str
    home: str
    home_id: str
    program: str
    version: str
    never: list[str] = []
    """Paths beneath the home that no sync touches: scratch, and the snapshots."""
    missing: list[str] = []
    """Those of the folders and paths that are not there."""
    line_breaks: int = 0
    """Names with a line break in the folders; what has one is never synced."""
    again: dict[str, list[str]] = {}
    """What was still being written at the end of the last sync, by the other side's profile."""


class FilesCounted(Result, frozen=True):
    """`sync count`: files that would go, and files in all."""

    going: int
    total: int
    just_written: list[int] = []
    """The places in the request of those paths where a file was written just now."""
    youngest_s: float | None = None
    """How long ago the last of these was written."""


class SyncNoted(Result, frozen=True):
    """`sync note`: how many paths are noted."""

    paths: int


class PathProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A path that was left as it is, and why."""

    path: str
    reason: str


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A path that would change, and how: `deleted, to aws`."""

    path: str
    action: str


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """A path that changed on both sides, for whoever decides about it."""

    path: str
    first: str
    """What happened in the first profile's home, like `changed` or `deleted`."""
    other: str
    same_contents: bool = False
    """The contents are the same: the permissions differ."""
    has_plain_name: bool = True
    """Whether `--path` can name it; not when `path` holds escapes."""


class SyncedPair(msgspec.Struct, frozen=True, kw_only=True):
    """What happened between the first profile's home and that of another."""

    profile: str
    version: str = ""
    """Of its unison."""
    to_first: int = 0
    """Changes that went to the first profile's home; a new directory is one."""
    to_profile: int = 0
    deleted: int = 0
    """How many of these were deletions."""
    equal: bool = False
    """Whether no difference was found, and nothing was left out that could be one."""
    conflicts: list[str] = []
    same_contents: list[str] = []
    """Those of the conflicts whose contents are the same: the permissions differ."""
    conflict_details: list[Conflict] = []
    """The same conflicts, with what happened on each side."""
    skipped: list[PathProblem] = []
    failed: list[PathProblem] = []
    full_homes: list[str] = []
    """The profiles whose homes had no room for what failed."""
    plan: list[PlannedChange] = []
    """With `--dry-run`: what would happen."""


class Synced(Result, frozen=True):
    """`sync`: the star around the first profile."""

    first: str
    folders: list[str]
    pairs: list[SyncedPair]
    failed: list[ProfileFailure] = []
    """The profiles that could not be synced, or not to the end, and why."""
    dry_run: bool = False
    test: bool = False

    def exit_code(self) -> int:
        """That of a profile that could not be synced; else 33 when a home is full, 41 with conflicts, 103 when something else was not synced."""
        if self.failed:
            return self.failed[0].exit_code
        if any(pair.full_homes for pair in self.pairs):
            return 33
        if any(pair.conflicts for pair in self.pairs):
            return 41
        return 103 if any(pair.skipped or pair.failed for pair in self.pairs) else 0


class LastPair(msgspec.Struct, frozen=True, kw_only=True):
    """What the last sync from this machine left between the first profile's home and that of another."""

    profile: str
    condition: Literal["never", "clean", "conflicts", "incomplete"] = "never"
    """`clean` when nothing was left as it is; with conflicts and other paths left, `conflicts`."""
    synced_time: str | None = None
    synced_age_s: int | None = None
    to_first: int = 0
    to_profile: int = 0
    deleted: int = 0
    looked_time: str | None = None
    """When the conflicts were last looked for, by a sync or by `--dry-run`."""
    looked_age_s: int | None = None
    conflicts: list[Conflict] = []
    conflict_count: int = 0
    """How many there were; of very many, only the first are kept."""
    left: list[PathProblem] = []
    """What else was not synced, and why."""


class SyncRecalled(Result, frozen=True):
    """`sync --last`: what is known on this machine, without asking anybody."""

    first: str
    folders: list[str]
    pairs: list[LastPair]
