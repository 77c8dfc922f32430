"""`hop`: onto another node, with everything, before the old one is let go."""

from __future__ import annotations

from dataclasses import dataclass

from scratchflow.flows.anywhere import Caller, Cluster, cluster_of
from scratchflow.flows.pointing import has_alias, point_at, verify
from scratchflow.flows.wishes import Backup, DryRun, Hold, Nothing, Release, Settle
from scratchflow.model.errors import (
    AllocationMissing,
    HopUnfinished,
    SchedulerMissing,
    WorkspaceMissing,
)
from scratchflow.model.events import Emit, Log, Progress, Warned
from scratchflow.model.results import (
    AutobackupSwitched,
    BackupTaken,
    Hopped,
    JobsShown,
    NodeHeld,
    NodeReleased,
    SessionReady,
    Settled,
)

# Whoever goes on working on the old node meanwhile is caught up with a few times, then told.
_CATCH_UPS = 4


@dataclass(frozen=True)
class _Move:
    """Which job is left and, when an earlier run got that far, which one is moved to."""

    old_job: int
    old_node: str
    cluster: Cluster

    def say(self, phase: str) -> None:
        self.cluster.emit(Progress(phase=phase))


def hop(caller: Caller, emit: Emit, wish: Hold) -> Hopped:
    """Backup, next node, restore, verify, repoint, and only then the old node is released.

    Killed anywhere, both nodes are still ours and running it again finishes: of two running jobs the
    older one is the one to leave.
    """
    settings = caller.settings()
    if settings.profile.scheduler == "none":
        raise SchedulerMissing(profile=settings.name)
    with cluster_of(settings, caller, emit) as cluster:
        move = _begin(cluster)
        if wish.dry_run:
            return _foretold(move, wish)
        move.say("saving the workspace")
        _back_up(move)
        held = _next_node(move, wish)
        snapshot = _bring_over(move, held)
        _switch(move, held)
        left_behind = _leave(move, snapshot)
    return Hopped(
        from_node=move.old_node,
        from_job_id=move.old_job,
        node=held.node,
        job_id=held.job_id,
        end_time=held.end_time,
        snapshot=snapshot,
        left_behind=left_behind,
    )


def _begin(cluster: Cluster) -> _Move:
    jobs = cluster.on_login("jobs held", Nothing(), JobsShown).jobs
    if not jobs or jobs[0].node is None or jobs[0].job_id is None:
        raise AllocationMissing(profile=cluster.settings.name)
    return _Move(jobs[0].job_id, jobs[0].node, cluster)


def _back_up(move: _Move) -> BackupTaken | None:
    """What the old node has now; None when it has no workspace."""
    try:
        wish = Backup(message="before hop")
        return move.cluster.at_workspace("backup", wish, BackupTaken, job_id=move.old_job)
    except WorkspaceMissing:
        return None


def _next_node(move: _Move, wish: Hold) -> NodeHeld:
    beside = Hold(
        node=wish.node,
        warm=wish.warm,
        wait_s=wish.wait_s,
        keep_waiting=wish.keep_waiting,
        beside=move.old_job,
    )
    move.say("asking for the next node")
    return move.cluster.on_login("hold", beside, NodeHeld)


def _bring_over(move: _Move, held: NodeHeld) -> str | None:
    """The workspace on the new node, equal to the last snapshot of the old one; its id."""
    last: str | None = None
    for _ in range(_CATCH_UPS):
        taken = _back_up(move)
        if taken is None or (last is not None and taken.snapshot == last):
            break
        last = taken.snapshot
        move.say(f"restoring on {held.node}")
        settled = move.cluster.at_workspace(
            "settle", Settle(snapshot=last), Settled, job_id=held.job_id
        )
        move.cluster.emit(
            Log(level="info", message=f"`{held.node}` has snapshot {settled.snapshot}")
        )
    if last is not None:
        _require_equal(move, held, last)
    return last


def _require_equal(move: _Move, held: NodeHeld, snapshot: str) -> None:
    """The old node is given back only when the new one holds what it had."""
    seen = move.cluster.at_workspace(
        "backup", Backup(dry_run=True), BackupTaken, job_id=held.job_id
    )
    if seen.kind != "unchanged" or seen.snapshot != snapshot:
        reason = f"`{held.node}` does not equal snapshot {snapshot}"
        raise HopUnfinished(reason=reason, node=move.old_node)


def _switch(move: _Move, held: NodeHeld) -> None:
    cluster = move.cluster
    cluster.on_login("autobackup on", DryRun(), AutobackupSwitched)
    if has_alias(cluster.settings):
        move.say("trying the way there")
        point_at(cluster.settings, held, cluster.emit)
        verify(cluster.settings, held.node, cluster.emit, may_ask=cluster.caller.may_ask)


def _leave(move: _Move, snapshot: str | None) -> str | None:
    """Gives the old node back, after one more look at it; the snapshot of what was still changed there."""
    cluster = move.cluster
    move.say("giving the old node back")
    taken = _back_up(move)
    left = taken.snapshot if taken and taken.snapshot != snapshot else None
    if left:
        message = f"`{move.old_node}` was still worked on: what changed is in snapshot {left}"
        cluster.emit(Warned(code="hop.left_behind", message=message))
    cluster.on_login("release", Release(job_id=move.old_job), NodeReleased)
    # The window showed a shell of the old node, which ended with it.
    cluster.on_login("session", Nothing(), SessionReady)
    return left


def _foretold(move: _Move, wish: Hold) -> Hopped:
    told = move.cluster.on_login(
        "hold",
        Hold(node=wish.node, warm=wish.warm, beside=move.old_job, dry_run=True),
        NodeHeld,
    )
    return Hopped(
        from_node=move.old_node,
        from_job_id=move.old_job,
        node=told.node,
        job_id=told.job_id,
        end_time=None,
        snapshot=None,
        commands=[
            "scratchflow backup",
            told.command,
            "scratchflow restore",
            f"scancel {move.old_job}",
        ],
        dry_run=True,
    )
