"""Snapshots on their way: `snapshots export` and `import`, `copy` from store to store, what is sent to the laptop."""

import msgspec

from scratchflow.model.requests import ArchiveOf, WholeSnapshot
from scratchflow.model.results.base import Result


class SnapshotSent(Result, frozen=True):
    """`snapshots send`: what went out; `size_bytes` and `digest` are those of the archive; with `lists`, `digest` is that of the list.

    `place` is where it will be beneath the directory that it is taken to.
    """

    snapshot: str
    files: int
    bytes: int
    written_files: int
    written_bytes: int
    size_bytes: int = 0
    digest: str = ""
    place: str = ""


class SnapshotsOffered(Result, frozen=True):
    """`snapshots offer`: whole snapshots, oldest first. `damaged` ones cannot be copied.

    Those of `along` were not asked for: full ones whose archives the others need anyway.
    """

    snapshots: list[WholeSnapshot]
    along: list[str] = []
    damaged: list[str] = []
    # Why manifests of this store cannot be read, by snapshot; when all snapshots are asked for.
    unreadable: dict[str, str] = {}
    # Archives that were found damaged when they were last read. They may be whole again: only reading them tells.
    doubted: list[str] = []
    store_id: str | None = None
    # The parents of all snapshots that this store has or had.
    parents: dict[str, str] = {}


class ArchiveLacking(msgspec.Struct, frozen=True):
    """An archive that is to be sent, and how much of it arrived earlier; `is_whole` when that was compared and is all."""

    archive: ArchiveOf
    arrived_bytes: int = 0
    is_whole: bool = False


class SnapshotLacking(msgspec.Struct, frozen=True):
    """A snapshot that a store lacks, and which archives of it.

    `in_one`: an archive of one of those names is there and is another one, so the snapshot has to come as one full
    archive. `blocked`: that is so of its own name, or it is there and damaged, so it cannot come at all.
    `in_the_way`: what has to be moved away first, because it is no archive or manifest that could be replaced.
    """

    id: str
    archives: list[ArchiveLacking]
    in_one: bool = False
    blocked: bool = False
    in_the_way: str = ""
    # Archives here that may serve it, though they are not those of the other store: see `Adopt`.
    serving: list[str] = []


class SnapshotsLacking(Result, frozen=True):
    """`snapshots lacking`: oldest first; `newest` is the store's newest snapshot of all.

    `newest_work` is the one whose work that holds: another one where somebody went back to that, and none where that is
    the empty workspace that `up` made, never used.
    """

    snapshots: list[SnapshotLacking]
    newest: str | None
    newest_work: str | None = None
    store_id: str | None = None
    # How much may come, and where to; None when the file system does not say.
    room_bytes: int | None = None
    directory: str = ""


class ArchiveGiven(Result, frozen=True):
    """`snapshots give`: what went out; the digest is that of the whole archive.

    `problem` says what is wrong with it in the store that gave it; empty when it is as it was written.
    """

    size_bytes: int
    digest: str
    problem: str = ""


class ArchiveTaken(Result, frozen=True):
    """`snapshots take`: the archive arrived whole, and was read back."""

    size_bytes: int
    digest: str


class SnapshotAdopted(Result, frozen=True):
    """`snapshots adopt`: whether it was new; `newest` is the store's newest snapshot now."""

    snapshot: str
    is_new: bool
    newest: str | None
    # Snapshots of this store that were damaged, and are whole with what arrived.
    mended: list[str] = []
    # Archives here do not hold all that it reads from them: it was not adopted, and has to come as one full archive.
    is_unserved: bool = False


class SnapshotsCopied(Result, frozen=True):
    """`snapshots copy`: from one profile's store into another's."""

    source: str
    to: str
    copied: list[str]
    already_there: list[str]
    sent_bytes: int
    duration_s: float
    # The newest snapshot of the other store now.
    newest: str | None = None
    # Those that are damaged in the store that they were to come from; with `dry_run`, as far as that is known.
    damaged: list[str] = []
    # Those whose manifest cannot be read there, with the reason; when all snapshots are asked for.
    unreadable: dict[str, str] = {}
    # The other store has another archive under their name, or a damaged one.
    blocked: list[str] = []
    # What lies in the other store under a name that they need and is no file of ours, by snapshot.
    in_the_way: dict[str, str] = {}
    # Those that the other store did not list as whole when it was asked at the end.
    not_whole: list[str] = []
    # Archives that they need and the other store had: those were not read again.
    relies_on: int = 0
    # What those hold that go as one full archive, because the other store has another archive that they need.
    as_full_bytes: int = 0
    # With `dry_run`: what those hold that go as one full archive if what is left of an archive there does not hold all that
    # they read from it. Only the copy itself finds that out.
    perhaps_as_full_bytes: int = 0
    # Snapshots that were damaged in the other store, and are whole now.
    mended: list[str] = []
    # Full snapshots that the others are built on: their archives go over anyway.
    along: list[str] = []
    dry_run: bool = False

    def exit_code(self) -> int:
        """That of damage, when anything is not there because of it."""
        return 31 if self.is_left_out else 0

    @property
    def is_left_out(self) -> bool:
        """Whether anything is not there that was asked for."""
        here = self.damaged or self.unreadable
        return bool(here or self.blocked or self.in_the_way or self.not_whole)


class SnapshotsMirrored(Result, frozen=True):
    """`snapshots mirror`: the profile's store to its mirror."""

    mirror: str
    duration_s: float
    sent: list[str] = []
    # How many were there before.
    there: int = 0
    sent_bytes: int = 0
    damaged: list[str] = []
    # Those whose manifest in the store cannot be read, with the reason.
    unreadable: dict[str, str] = {}
    # The mirror has something else under the name of a file that they need.
    blocked: list[str] = []
    dry_run: bool = False
    # What is in the way on the mirror and of no use: deleted by hand, the next run sends it anew. A directory ends with a slash, a link with `.rclonelink`.
    wrong: list[str] = []
    # Those of `damaged` that are on the mirror: as whole as they were when they were sent.
    sent_before: list[str] = []

    def exit_code(self) -> int:
        """That of damage, when anything was left out because of it, here or on the mirror."""
        return 31 if self.is_left_out or self.wrong else 0

    @property
    def is_left_out(self) -> bool:
        """Whether a snapshot of the store was not sent."""
        return bool(self.damaged or self.unreadable or self.blocked)


class MirrorKept(Result, frozen=True):
    """`mirror keep`: how often something was sent."""

    runs: int


class NewerFound(Result, frozen=True):
    """`snapshots newer`: what the workspace has newer than a snapshot, of some paths."""

    snapshot: str
    host: str
    changed: int = 0
    changed_paths: list[str] = []
    """The first of them."""
    added: int = 0
    """How many files are in the workspace and not in the snapshot; excluded ones do not count."""
    added_paths: list[str] = []
    """The first of them."""
    unsaved: list[str] = []
    """Paths, as they were asked for, that are in the workspace and not in the snapshot."""
    kept_out: list[str] = []
    """Those of them that a backup leaves out."""
    unreadable: int = 0
    """How many of the changed files cannot be read, so that no backup saves them."""


class SnapshotExported(Result, frozen=True):
    """`snapshots export`: one plain full `.tar.lz4`."""

    snapshot: str
    path: str
    bytes: int
    dry_run: bool = False
    # The machine that `path` is on.
    host: str = ""


class SnapshotImported(Result, frozen=True):
    """`snapshots import`: a foreign `.tar.lz4` as a snapshot."""

    snapshot: str | None
    source: str
    files: int
    bytes: int
    dry_run: bool = False
    previous: str | None = None
    """The snapshot that was `latest` before: the imported one takes its place. Null if there was none."""
