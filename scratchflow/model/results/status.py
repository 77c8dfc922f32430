"""`status`: everything at one glance, and each part of it."""

from typing import Literal

import msgspec

from scratchflow.model.allocation import WARN_AT_S, AllocationState
from scratchflow.model.requests import ServerKind
from scratchflow.model.results.backup import AutobackupShown, CopyShown
from scratchflow.model.results.base import OnProfiles, Result
from scratchflow.model.results.usage import NodeUsage
from scratchflow.model.snapshot import SnapshotKind
from scratchflow.model.times import epoch


class AllocationShown(msgspec.Struct, frozen=True, kw_only=True):
    """The allocation in `status`."""

    state: AllocationState
    job_id: int | None
    node: str | None
    partition: str
    end_time: str | None
    seconds_left: int | None
    start_time: str | None = None
    reason: str = ""
    start_estimate: str | None = None
    nodes: list[str] = []
    """All nodes of the job; `node` is the first."""

    def warn_at_s(self) -> list[int]:
        """How long before its end people are told. Of a short job not while more than half of it is left."""
        half_s = self.half_s()
        if half_s is None:
            return [*WARN_AT_S]
        return [mark for mark in WARN_AT_S if mark <= half_s] or [WARN_AT_S[-1]]

    def half_s(self) -> float | None:
        """Half of the time that the job has in all."""
        start_s, end_s = epoch(self.start_time), epoch(self.end_time)
        return None if start_s is None or end_s is None else (end_s - start_s) / 2


class AliasShown(msgspec.Struct, frozen=True, kw_only=True):
    """Where the alias leads."""

    name: str
    target: str | None
    parked: bool
    others: list[str] = []
    """Where the aliases `NAME-2`, `NAME-3` … lead."""
    exists: bool = True
    """False before the first `up` of a profile, and after `setup --remove`: ssh does not know the name."""
    of_profile: str = ""
    """The other profile of this machine whose node that is; empty when it is this profile's."""


class WorkspaceShown(msgspec.Struct, frozen=True, kw_only=True):
    """The workspace; `exists` is null while nobody on its node can be asked.

    From another machine it is what the auto-backup saw last, or else the record of the last backup
    or restore; `seen_time` says when that was. One that goes with its job is removed when that
    ends: then the snapshots are all that is left. Without a job, its path is as the profile has it.
    """

    path: str
    exists: bool | None
    base_snapshot: str | None
    seen_time: str | None = None
    goes_with_job: bool = False


class RecentSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the last day, for a timeline."""

    id: str
    time: str
    kind: SnapshotKind
    stored_bytes: int


class SnapshotsShown(msgspec.Struct, frozen=True, kw_only=True):
    """The store in short; `recent` are those of the last day, oldest first."""

    count: int
    last_id: str | None = None
    last_message: str = ""
    last_time: str | None = None
    last_age_s: int | None = None
    recent: list[RecentSnapshot] = []
    oldest_check_s: int | None = None
    """How long ago the snapshot was read back that waits longest; null when one never was."""


ON_FAILED_NODE = "workspace.on_failed_node"
"""The problem of work that is on the disk of a node that failed, and in no snapshot."""
STORE_MOVED = "store.moved"
"""The problem of a store that a variable names, which is empty while another one has the snapshots."""
FEWER_NODES = "allocation.fewer_nodes"
"""The problem of a job that has fewer nodes than the profile asks for."""


class SavedShown(msgspec.Struct, frozen=True, kw_only=True):
    """When a backup last found everything saved; one that finds nothing changed takes no snapshot, and counts."""

    time: str
    age_s: int
    late: bool = False
    """Changes since then may be lost with the node: the auto-backup is silent or fails, or nobody saved for two intervals."""


class OtherShown(msgspec.Struct, frozen=True, kw_only=True):
    """Another workspace of ours on the same node, as the auto-backup tells."""

    name: str
    path: str
    snapshot: str | None
    saved_time: str | None = None
    """When the auto-backup last saved it, or found it unchanged; null before its first look at it."""
    last_error: str | None = None
    own_autobackup: bool = False
    """An auto-backup of its own saves it."""
    is_saved: bool = True
    """False since the auto-backup has ended that saved it, while its store is not there, and while a restore of it has not finished."""
    store_missing: str = ""
    """Where its snapshots should be, when the login host finds no directory there."""
    newer: str | None = None
    """The newest snapshot of that workspace in the store, when this copy does not come from it."""
    restoring: str = ""
    """The snapshot of a restore into it that has not finished: it is half of two states, and no backup is taken of it."""
    other_store: str = ""
    """Where its snapshots are, unless that is the profile's store."""


class SessionShown(msgspec.Struct, frozen=True, kw_only=True):
    """Our tmux session, and on which login host."""

    name: str | None
    host: str | None
    alive: bool | None
    """Null when it is on another login host, which was not asked."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Two things that do not fit together, and the one line that mends it."""

    name: str
    detail: str
    fix: str


class ElsewhereShown(msgspec.Struct, frozen=True, kw_only=True):
    """A node that another profile of this cluster holds, or waits for."""

    profile: str
    job_id: int | None
    state: AllocationState
    node: str | None = None
    end_time: str | None = None
    cancel: str = ""
    """Ends the job without a backup; empty where this machine has the profile."""


class ServerShown(msgspec.Struct, frozen=True, kw_only=True):
    """A program that listens on the node for this user alone."""

    name: str
    kind: ServerKind
    node: str
    job_id: int | None = None
    socket: str = ""
    port: int = 0
    log: str = ""
    shows: str = ""
    """The LOGDIR of a TensorBoard."""
    ended: str = ""
    """How it ended; empty while it runs."""
    url: str = ""
    """Where this machine has it; with its token in `serve list` alone. Empty without a tunnel."""
    problem: str = ""
    """Why the tunnel leads nowhere at the moment."""


class TunnelShown(msgspec.Struct, frozen=True, kw_only=True):
    """A local port of this machine that leads to the node."""

    name: str
    local_port: int
    to: str
    """The server's name, or the port or socket on the node."""
    problem: str = ""
    """Why it leads nowhere at the moment."""


class MirrorShown(msgspec.Struct, frozen=True, kw_only=True):
    """The profile's mirror, as far as the store knows."""

    mirror: str
    missing: int
    """How many snapshots are not there as far as is known; without `looked_time` nobody has looked. Damaged ones do not count."""
    missing_since: str | None = None
    """When the oldest of them was taken."""
    looked_time: str | None = None
    error: str | None = None
    """Why the last run failed, in rclone's words."""
    failing_since: str | None = None
    damaged: int = 0
    """How many are known to be damaged in the store: they are not sent, and those that were may be damaged there, too."""


class RunningShown(msgspec.Struct, frozen=True, kw_only=True):
    """A command that writes to the store now, from whichever machine it was started."""

    doing: str
    """The verb, like `backup`; the auto-backup's are `backup`, too."""
    host: str
    since: str


class StatusShown(Result, frozen=True):
    """`status`: everything at one glance."""

    profile: str
    allocation: AllocationShown | None
    alias: AliasShown | None
    workspace: WorkspaceShown
    snapshots: SnapshotsShown
    autobackup: AutobackupShown
    session: SessionShown
    problems: list[Problem] = []
    scheduler: Literal["slurm", "none"] = "slurm"
    next_step: str = ""
    """What makes sense to do next, in a sentence; empty when it is in the `fix` of a problem."""
    others: list[OtherShown] = []
    """Other workspaces of ours on the same node."""
    elsewhere: list[ElsewhereShown] = []
    """What other profiles hold on the same cluster: nodes that are easily forgotten."""
    store: str = ""
    """The directory with the snapshots and HOW-TO-RESTORE.txt, on the login host; empty when it cannot be read."""
    copies: list[CopyShown] = []
    """The workspace on the further nodes of the allocation."""
    servers: list[ServerShown] = []
    """What `serve` has started on the node."""
    tunnels: list[TunnelShown] = []
    """Local ports of this machine that lead elsewhere on the node."""
    saved: SavedShown | None = None
    """When the workspace was last saved, and whether that is too long ago; null when it never was."""
    mirror: MirrorShown | None = None
    """The off-site copy of the snapshots; null when there is none."""
    running: RunningShown | None = None
    """What writes to the store now, like a backup; null when nothing does."""
    usage: list[NodeUsage] = []
    """With `--usage`: what is in use on each node of the allocation, the first one first."""
    profiles: int = 0
    """How many profiles the configuration file of this machine has."""
    syncs: bool = False
    """Whether its `[sync]` names homes and folders to keep equal."""

    def after(self, passed_s: float) -> "StatusShown":
        """The same picture that many seconds later, as far as nobody has to be asked for it."""
        held, snapshots, saved = self.allocation, self.snapshots, self.saved
        passed = int(passed_s)
        if held is not None and held.seconds_left is not None:
            left_s = max(0, held.seconds_left - passed)
            held = msgspec.structs.replace(held, seconds_left=left_s)
        if snapshots.last_age_s is not None:
            age_s = snapshots.last_age_s + passed
            snapshots = msgspec.structs.replace(snapshots, last_age_s=age_s)
        if saved is not None:
            saved = msgspec.structs.replace(saved, age_s=saved.age_s + passed)
        return msgspec.structs.replace(self, allocation=held, snapshots=snapshots, saved=saved)


class StatusOfAll(OnProfiles, frozen=True):
    """`status --all`: the pictures of all profiles, in the order of the file."""

    profiles: list[StatusShown]


class DetachedRun(msgspec.Struct, frozen=True):
    """A command that `run --detach` left running: the window of our session, and the job."""

    window: str
    job_id: int


class SubmittedOpen(msgspec.Struct, frozen=True, kw_only=True):
    """A submitted job that waits or runs; its name in Slurm does not tell the profile."""

    job_id: int
    waits: bool
    """None of its tasks has started."""
    is_listed: bool = True
    """Whether `jobs` of this profile lists it; another one submitted it otherwise."""


class JobsShown(Result, frozen=True):
    """`jobs open`: the allocations of a profile, oldest first, waiting ones too; two while moving."""

    jobs: list[AllocationShown]
    detached: list[DetachedRun] = []
    """What `run --detach` has left running, when that was asked for."""
    elsewhere: list[ElsewhereShown] = []
    """Those of other profiles, when every profile was asked for."""
    submitted: list[SubmittedOpen] = []
    """Submitted jobs of every profile, when every profile was asked for."""
    meant: int | None = None
    """The job of the profile that commands go to: of two, as while moving, the one that is worked in."""
