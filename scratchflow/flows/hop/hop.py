"""`hop`: onto another node, with everything, before the old one is let go."""

from __future__ import annotations

from contextlib import suppress

from scratchflow.cluster.this_host import role
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.flows.alias import has_alias, point_at, require_alias_beside_login, verify
from scratchflow.flows.clear.last_backup import (
    SavedCopy,
    backup_commands,
    foretell_last_backup,
    require_all_saved,
    tell_excluded,
    warn_of_loss,
)
from scratchflow.flows.clear.saved_for_others import tell_who_is_not_saved
from scratchflow.flows.clear.what_ends import Agrees, agree_to_what_ends
from scratchflow.flows.clear.whose_workspace import Owner, owners_of
from scratchflow.flows.current_work import newer_than
from scratchflow.flows.environment_left import warn_of_environment
from scratchflow.flows.hold import hold
from scratchflow.flows.hop.both_nodes import (
    job_worked_in,
    require_answer,
    require_next_node,
    say_that_the_old_node_stays,
    says_what_is_held,
)
from scratchflow.flows.hop.move import Move
from scratchflow.flows.hop.saving import back_up, save_nodes, save_where_work_went_on
from scratchflow.flows.serve.local_tunnels import lead_on
from scratchflow.flows.serve.serve import start_again
from scratchflow.model.allocation import HELD
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    AllocationPending,
    AllocationRefused,
    AllocationSuspended,
    AllocationWaiting,
    NodeFailed,
    NodeSilent,
)
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.errors.hop import HopUnfinished
from scratchflow.model.events import Emit, Log, Warned
from scratchflow.model.requests import (
    EVERY_NODE,
    Backup,
    Hold,
    OpenJobs,
    Release,
    Session,
    Settle,
    SwitchOn,
)
from scratchflow.model.results.allocation import Hopped, NodeHeld, NodeReleased
from scratchflow.model.results.backup import AutobackupSwitched, BackupTaken, NodeSaved
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.run import SessionReady
from scratchflow.model.results.status import JobsShown
from scratchflow.model.text import restore_command, what_brings
from scratchflow.process.interrupted import Interrupted

# Whoever goes on working on the old node meanwhile is caught up with a few times, then told.
_CATCH_UPS = 4


def hop(
    caller: Caller,
    emit: Emit,
    request: Hold,
    *,
    leave_behind: bool = False,
    agrees: Agrees | None = None,
) -> Hopped:
    """Backup, next node, restore, verify, repoint, and only then the old node is released.

    Not while files on it are in no snapshot, unless they may be left behind.

    Killed anywhere, both nodes are still ours and running it again finishes: of two running jobs the
    older one is the one to leave.
    """
    settings = caller.settings()
    if settings.profile.scheduler == "none":
        raise SchedulerMissing(profile=settings.name)
    require_alias_beside_login(settings, dry_run=request.dry_run)
    with cluster_of(settings, caller, emit) as cluster:
        asks = None if request.dry_run else agrees
        move = _begin(cluster, leave_behind=leave_behind, agrees=asks)
        if request.dry_run:
            return _foretold(move, request)
        if request.node:  # one that is not there is told before anything is done
            _planned(move, request)
        move.say("saving the workspace")
        save_where_work_went_on(move)
        # A copy that an earlier job left here, `allocate` without `up`: it is saved, but not what goes over.
        newer = newer_than(cluster, move.old_job)
        # Before anything else is asked for: whoever has to mend something does so on one node.
        saved = save_nodes(move, left=move.went_on_to is not None)[-1].saved
        held = _next_node(move, request)
        with says_what_is_held(move, held):
            if newer:
                _say_what_forked(move, saved.snapshot, newer)
                last, snapshot = saved.snapshot, _settle(move, held, newer)
            else:
                last, snapshot = _bring_over(move, held)
            _bring_others(move, held, saved)
            _switch(move, held)
            servers = start_again(cluster, held.job_id, emit)
            gone, left_behind = _leave(move, held, last)
            lead_on(settings.name)
    return Hopped(
        from_node=move.old_node,
        from_job_id=move.old_job,
        node=held.node,
        job_id=held.job_id,
        end_time=held.end_time,
        snapshot=snapshot,
        left_behind=left_behind,
        fork=_forked(saved.snapshot, newer),
        forks=move.forks,
        unsaved=sum(copy.saved.unsaved for copy in gone),
        unsaved_paths=[path for copy in gone for path in copy.saved.unsaved_paths],
        servers=servers,
        others=move.brought,
    )


def _forked(saved: str | None, newer: str | None) -> str | None:
    """The snapshot just taken of a copy that is not the present work. Ids sort by time."""
    return saved if newer and saved and saved > newer else None


def _say_what_forked(move: Move, saved: str | None, newer: str) -> None:
    fork = _forked(saved, newer)
    if fork and fork not in move.forks.values():
        message = (
            f"`{move.old_node}` held another copy of the workspace, with changes: they are saved as a fork,"
            f" snapshot {fork}; the newest work, snapshot {newer}, is what moves."
            f" `scratchflow snapshots diff {fork} {newer}` compares them"
        )
        move.cluster.emit(Warned(code="hop.fork", message=message))


def _begin(cluster: Cluster, *, leave_behind: bool, agrees: Agrees | None = None) -> Move:
    shown = cluster.on_login("jobs open", OpenJobs(detached=True, others_too=True), JobsShown)
    jobs = shown.jobs
    held = [job for job in jobs if job.state in HELD]
    if not held and jobs and jobs[-1].state == "pending":
        raise AllocationWaiting.of_job(jobs[-1].job_id, jobs[-1].reason)
    if not held or held[0].node is None or held[0].job_id is None:
        raise AllocationMissing(profile=cluster.settings.name)
    if held[0].state != "running":
        raise AllocationSuspended(job_id=held[0].job_id, node=held[0].node)
    warn_of_environment(cluster.settings.profile, cluster.emit)
    agree_to_what_ends(cluster.emit, shown.detached, {held[0].job_id}, agrees)
    tell_who_is_not_saved(cluster, held[:1], shown.elsewhere)
    others = tuple(held[0].nodes[1:])
    later = {job.job_id for job in held[1:] if job.state == "running"}
    return Move(
        held[0].job_id,
        held[0].node,
        cluster,
        leave_behind,
        others,
        tuple(shown.elsewhere),
        shown.meant if shown.meant in later else None,
    )


def _next_node(move: Move, request: Hold) -> NodeHeld:
    beside = Hold(
        node=request.node,
        warm=request.warm,
        wait_s=request.wait_s,
        keep_waiting=request.keep_waiting,
        beside=move.old_job,
        typed=request.typed,
    )
    move.say("asking for the next node")
    try:
        return hold(move.cluster, beside)
    except (AllocationPending, AllocationRefused) as error:
        if isinstance(error, AllocationPending) and _asks_for_more(request):
            _say_that_the_old_node_may_do(move, request)
        say_that_the_old_node_stays(move, error)
        raise
    except NodeSilent as error:  # that of a job which an earlier run was granted
        require_answer(move, error)
        raise
    except (NodeFailed, AllocationEnded) as error:
        require_next_node(move, error)
        raise


def _asks_for_more(request: Hold) -> bool:
    return bool(request.typed) and not request.node and not request.keep_waiting


def _say_that_the_old_node_may_do(move: Move, request: Hold) -> None:
    """`hop` leaves the old node out, which may have free what was asked for: only another way asks for it, too."""
    message = (
        f"`hop` asks for another node than `{move.old_node}`. To ask for that one, too:"
        f" `scratchflow clear`, then `scratchflow up {' '.join(request.typed.values())}`"
    )
    move.cluster.emit(Log(level="info", message=message))


def _bring_over(move: Move, held: NodeHeld) -> tuple[str | None, str | None]:
    """The workspace on the new node, with all that the old one has saved.

    Returns the last snapshot of the old node, and the one that the new node is at: the same, or one
    that came from it, when somebody has worked there since an earlier try.
    """
    last: str | None = None
    there: str | None = None
    for _ in range(_CATCH_UPS):
        taken = back_up(move)
        if taken is None or (last is not None and taken.snapshot == last):
            break
        last = taken.snapshot
        there = _settle(move, held, last)
    return last, there


def _settle(move: Move, held: NodeHeld, wanted: str | None) -> str | None:
    """The new node with this snapshot, or with work that came from it; the one that it is at."""
    move.say(f"restoring on {held.node}")
    request = Settle(snapshot=wanted)
    settled = move.cluster.at_workspace(
        "settle", request, Settled, job_id=held.job_id, node=EVERY_NODE
    )
    for one in settled.failed:
        raise HopUnfinished(reason=f"on `{one.node}`: {one.message}", node=move.old_node)
    message = f"`{held.node}` has snapshot {settled.snapshot}"
    move.cluster.emit(Log(level="info", message=message))
    displaced = settled.restored.safety_snapshot if settled.restored else None
    if displaced:
        message = f"`{held.node}` still held changes that no snapshot had: they are saved as a fork, snapshot {displaced};"
        message += f" `scratchflow snapshots diff latest {displaced}` shows them"
        move.cluster.emit(Warned(code="hop.fork", message=message))
    if settled.action == "restored":
        _require_equal(move, held, settled.snapshot)
    return settled.snapshot


def _bring_others(move: Move, held: NodeHeld, saved: NodeSaved) -> None:
    """The profile's other workspaces that were worked in on the old node, on the new one; again when one has changed.

    One that cannot be brought is told by `_say_what_stays`, and stops nothing: it is in a snapshot.
    """
    for name in saved.own_others:
        snapshot = saved.others[name]
        if move.brought.get(name) == snapshot:
            continue
        move.say(f"restoring `{name}` on {held.node}")
        there = move.cluster.with_workspace(name, saved.other_stores.get(name, ""))
        request = Settle(snapshot=snapshot)
        move.brought.pop(name, None)
        try:
            settled = there.at_workspace(
                "settle", request, Settled, job_id=held.job_id, node=EVERY_NODE
            )
        except (AllocationEnded, AllocationMissing, NodeFailed, NodeSilent):
            raise  # the old node is not given back for one that is gone
        except ScratchflowError as error:
            _warn_not_brought(move, name, held.node, str(error))
            continue
        for one in settled.failed:
            _warn_not_brought(move, name, one.node, one.message)
        if not settled.failed:
            move.brought[name] = snapshot


def _warn_not_brought(move: Move, name: str, node: str, reason: str) -> None:
    message = f"workspace `{name}` was not brought to `{node}`: {reason}"
    move.cluster.emit(Warned(code="hop.not_brought", message=message))


def _require_equal(move: Move, held: NodeHeld, snapshot: str | None) -> None:
    """The old node is given back only when the new one holds what it had."""
    request = Backup(dry_run=True, purpose="final")
    seen = move.cluster.at_workspace("backup", request, BackupTaken, job_id=held.job_id)
    if seen.kind != "unchanged" or seen.snapshot != snapshot:
        reason = f"`{held.node}` does not equal snapshot {snapshot}"
        raise HopUnfinished(reason=reason, node=move.old_node)


def _switch(move: Move, held: NodeHeld) -> None:
    cluster = move.cluster
    try:
        cluster.on_login("autobackup on", SwitchOn(job_id=held.job_id), AutobackupSwitched)
    except Interrupted:
        # It ends with the note that commands go to the new node now: an alias to the old one would then part the work.
        if has_alias(cluster.settings) and job_worked_in(move) == held.job_id:
            with suppress(ScratchflowError):
                point_at(cluster.settings, held, cluster.emit, cluster.caller.environment)
        raise
    if has_alias(cluster.settings):
        move.say("trying the way there")
        point_at(cluster.settings, held, cluster.emit, cluster.caller.environment)
        verify(cluster.settings, held.node, cluster.emit, may_ask=cluster.caller.may_ask)


def _leave(move: Move, held: NodeHeld, snapshot: str | None) -> tuple[list[SavedCopy], str | None]:
    """Gives the old node back, after one more look at it.

    Returns what that saved, and the snapshot of what was still changed there.
    """
    cluster = move.cluster
    move.say("giving the old node back")
    copies = save_nodes(move, left=True, fork=True)
    _bring_others(move, held, copies[-1].saved)
    for copy in copies:
        warn_of_loss(cluster.emit, copy.node, copy.saved)
        _say_what_stays(move, copy)
    tell_excluded(cluster.emit, copies, move.elsewhere)
    saved = copies[-1].saved
    left = saved.snapshot if saved.snapshot != snapshot else None
    if left:
        message = (
            f"`{move.old_node}` was still worked on: what changed is in snapshot {left}, a fork;"
            " what is written there until its job has ended is in one more, which `scratchflow snapshots list` names then"
        )
        cluster.emit(Warned(code="hop.left_behind", message=message))
    request = Release(job_ids=(move.old_job,), end_session=False)
    cluster.on_login("release", request, NodeReleased)
    _show_session(cluster)
    return copies, left


def _say_what_stays(move: Move, copy: SavedCopy) -> None:
    """Only workspaces of this profile move: of the others it is said where they are."""
    owners = owners_of(move.cluster, copy.node, copy.saved, move.elsewhere)
    for name, snapshot in copy.saved.others.items():
        if name in copy.saved.old_others or move.brought.get(name) == snapshot:
            continue
        command = restore_command(name, copy.saved.other_stores.get(name, ""))
        fork = snapshot if copy.beside or name in copy.saved.forked_others else ""
        owner = owners.get(name, Owner(""))
        brings = what_brings(
            f"{command} {fork}".rstrip(),
            owner.profile,
            is_there=owner.is_there,
            has_node=owner.has_node,
            fork=fork,
        )
        message = f"workspace `{name}` of `{copy.node}` is in snapshot {snapshot}; {brings}"
        move.cluster.emit(Log(level="info", message=message))


def _show_session(cluster: Cluster) -> None:
    """The window showed a shell of the old node, which ended with it. The move is done all the same."""
    if role(cluster.caller.environment) == "node":
        return  # the window is on the login host: the next `attach` fills it
    try:
        cluster.on_login("session", Session(), SessionReady)
    except ScratchflowError as error:
        message = f"there is no window on the new node: {error}"
        cluster.emit(Warned(code="tmux.failed", message=message))


def _planned(move: Move, request: Hold) -> NodeHeld:
    wanted = Hold(
        node=request.node,
        warm=request.warm,
        beside=move.old_job,
        typed=request.typed,
        dry_run=True,
    )
    return move.cluster.on_login("hold", wanted, NodeHeld)


def _foretold(move: Move, request: Hold) -> Hopped:
    nodes = [move.old_node, *move.other_nodes]
    seen = foretell_last_backup(move.cluster, move.old_job, nodes)
    require_all_saved(move.cluster, seen, verb="hop", leave_behind=move.leave_behind)
    got = _planned(move, request)
    return Hopped(
        from_node=move.old_node,
        from_job_id=move.old_job,
        node=got.node,
        job_id=got.job_id,
        end_time=None,
        snapshot=None,
        commands=[
            *backup_commands(move.old_job, [copy.node for copy in seen if copy.saved.foretold]),
            got.command,
            "scratchflow restore",
            f"point `{move.cluster.settings.profile.alias}` at the new node",
            f"scancel {move.old_job}",
        ],
        dry_run=True,
    )
