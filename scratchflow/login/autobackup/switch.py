"""`autobackup on|off|status`, on the login host: the loop on each node started, ended, looked at."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from scratchflow.cluster.slurm.jobs import our_jobs
from scratchflow.cluster.slurm.request import profile_of
from scratchflow.login.autobackup.running import (
    HeldNode,
    held_node,
    loop_of_other_profile,
    running_on,
    stop_loop,
    store_of,
)
from scratchflow.login.autobackup.start import start_loop
from scratchflow.login.current_job import current_job_note, note_current_job
from scratchflow.login.host import LoginHost
from scratchflow.login.status.former_scratch import workspace_at_former_scratch
from scratchflow.login.status.store import Now, autobackup_shown, read_node_files
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import AllocationMissing, OtherNodeFailed
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.model.requests import DryRun, Nothing, SwitchOn
from scratchflow.model.results.backup import AutobackupStatus, AutobackupSwitched
from scratchflow.node.autobackup.other_profile import other_profile_there
from scratchflow.node.autobackup.settings import saves_the_same, settings_digest
from scratchflow.node.context import node_context
from scratchflow.node.former_scratch import require_at_scratch
from scratchflow.process.parallel import EachInThread
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.heartbeats import Heartbeat, is_alive, log_path
from scratchflow.store.known import store_lost
from scratchflow.store.nodes import NodeRecord, leave_copies, read_nodes


def switch_on(login: LoginHost, arguments: SwitchOn) -> AutobackupSwitched:
    """Makes sure that the loop runs on every node of the job, with the interval of the profile."""
    held = held_node(login, arguments.job_id)

    def do(on: LoginHost, there: HeldNode) -> AutobackupSwitched:
        return _switch_on(on, there, arguments, beside=there.node != held.node)

    try:
        switched = _on_every_node(login, held, do)
    except ScratchflowError:
        _note_unless_another(login, held, arguments)
        raise
    if isinstance(held, RunningAllocation) and not arguments.dry_run:
        _leave_the_others(login, held)
        note_current_job(login, held.job_id)  # `up` and `hop` end here: from now on this is the job
    return switched


def _leave_the_others(login: LoginHost, held: HeldNode) -> None:
    """Notes of what the profile's other jobs have that it is not the newest work any more, unless it continues that.

    Before it is noted where commands go: ended in between, nothing takes the place of what somebody works on.
    """
    name = login.settings.name

    def is_left(record: NodeRecord) -> bool:
        return record.job_id not in {None, held.job_id} and profile_of(record.job_name) == name

    try:
        leave_copies(find_place(store_of(login), login.profile.workspace), is_left)
    except ScratchflowError as error:
        login.caution("notes.failed", f"it is not noted which node is worked on: {error}")


def _note_unless_another(login: LoginHost, held: HeldNode, arguments: SwitchOn) -> None:
    """Without an auto-backup, commands stay with the other job that is worked in: the node of this one may be dead."""
    if isinstance(held, RunningAllocation) and not arguments.dry_run:
        with suppress(ScratchflowError):
            current_job_note(login, held.job_id)


def _switch_on(
    login: LoginHost, held: HeldNode, arguments: SwitchOn, *, beside: bool
) -> AutobackupSwitched:
    place = find_place(store_of(login), login.profile.workspace)
    life = running_on(login, place, held)
    every_s = login.profile.backup.every.seconds
    if life is not None and _is_as_wanted(login, life):
        return _switched(life, held, changed=False)
    theirs = None if life else loop_of_other_profile(login, place, held)
    if theirs is not None and saves_the_same(login.profile, theirs.settings):
        return _shared(login, theirs, held)
    if theirs is not None:
        raise other_profile_there(theirs, login.profile.workspace)
    if isinstance(held, RunningAllocation):
        elsewhere = workspace_at_former_scratch(login, held, read_nodes(place))
        if elsewhere is not None:  # the loop that saves it goes on
            raise elsewhere
    else:
        require_at_scratch(node_context(login.settings, login.environment))
    if arguments.dry_run:
        return AutobackupSwitched(
            enabled=True, changed=True, node=held.node, every_s=every_s, dry_run=True
        )
    if life is not None:
        stop_loop(login, place, held, life)
    life = start_loop(login, held, beside=beside)
    if not beside:
        _show_log(login, place, held)
    return _switched(life, held, changed=True)


def _shared(login: LoginHost, life: Heartbeat, held: HeldNode) -> AutobackupSwitched:
    """Nothing to start: the auto-backup of another profile saves this very workspace into this very store."""
    profile = profile_of(life.job_name) or ""
    login.remark(
        f"the auto-backup of profile `{profile}` (job {life.job_id}) saves this workspace on `{held.node}`;"
        f" when that job ends, `scratchflow -p {login.settings.name} autobackup on` starts one of this profile"
    )
    return msgspec.structs.replace(_switched(life, held, changed=False), of_profile=profile)


def is_on(login: LoginHost, held: HeldNode) -> AutobackupSwitched | None:
    """What `switch_on` says when there is nothing to do; None when a loop has to be started, or started again."""
    place = find_place(store_of(login), login.profile.workspace)
    further = map(held.on, held.nodes[1:]) if isinstance(held, RunningAllocation) else ()
    lives = [running_on(login, place, there) for there in (held, *further)]
    if lives[0] is None or any(life is None or not _is_as_wanted(login, life) for life in lives):
        return None
    switched = _switched(lives[0], held, changed=False)
    return msgspec.structs.replace(switched, others=list(held.nodes[1:]))


def switch_off(login: LoginHost, arguments: DryRun) -> AutobackupSwitched:
    """Ends the loop on every node; a backup that is under way is finished first."""

    def do(on: LoginHost, there: HeldNode) -> AutobackupSwitched:
        return _switch_off(on, there, arguments)

    return _on_every_node(login, held_node(login), do)


def _switch_off(login: LoginHost, held: HeldNode, arguments: DryRun) -> AutobackupSwitched:
    place = find_place(store_of(login), login.profile.workspace)
    life = running_on(login, place, held)
    every_s = login.profile.backup.every.seconds
    if life is not None and not arguments.dry_run:
        stop_loop(login, place, held, life)
    return AutobackupSwitched(
        enabled=False,
        changed=life is not None,
        node=held.node,
        every_s=every_s,
        dry_run=arguments.dry_run,
    )


def _on_every_node(
    login: LoginHost, held: HeldNode, do: Callable[[LoginHost, HeldNode], AutobackupSwitched]
) -> AutobackupSwitched:
    """The first node's result, with the others that have done it too. What fails on one of those is a warning."""
    # Only the first node speaks: two threads would mix their lines.
    quiet = msgspec.structs.replace(login, emit=lambda _: None)
    rest = map(held.on, held.nodes[1:]) if isinstance(held, RunningAllocation) else ()
    places = {there.node: there for there in rest}
    further = EachInThread(list(places), lambda node: do(quiet, places[node]))
    try:
        first = do(login, held)
    finally:
        further.wait()
    for node, error in further.failed.items():
        login.caution(OtherNodeFailed.code, f"`{node}`: {error}")
    changed = first.changed or any(one.changed for one in further.done.values())
    return msgspec.structs.replace(first, changed=changed, others=list(further.done))


def show(login: LoginHost, _: Nothing) -> AutobackupStatus:
    """Shows its last heartbeat; StoreLost when nobody can say, because the store is away."""
    place = find_place(store_of(login), login.profile.workspace)
    lost = store_lost(login.home, place, login.host, mirror=login.profile.backup.mirror)
    if lost is not None:
        raise lost
    try:
        held: HeldNode | None = held_node(login)
    except AllocationMissing:
        held = None
    node = held.node if held else None
    others = our_jobs(login.slurm) if isinstance(held, RunningAllocation) else []
    files = read_node_files(place)
    return AutobackupStatus(
        node=node,
        autobackup=autobackup_shown(login.settings, place, files, held, Now(), others),
        log=str(log_path(place, node)) if node else None,
    )


def _is_as_wanted(login: LoginHost, life: Heartbeat) -> bool:
    """Whether it runs with the profile's settings, and is not silent: such a one is started again."""
    if is_alive(life, time.time()) is False:
        return False
    return life.settings in {"", settings_digest(login.profile)} and (
        life.every_s == login.profile.backup.every.seconds
    )


def _show_log(login: LoginHost, place: StoreDirectory, held: HeldNode) -> None:
    """Shows the log in a window of our tmux session, if there is one."""
    if login.has_tmux and not login.session_elsewhere():
        argv = ["tail", "-n", "+1", "-F", str(log_path(place, held.node))]
        try:
            login.tmux.show_beside(login.settings.name, "backup", argv)
        except TmuxFailed as error:  # two that start at once open the same window
            login.caution("tmux.failed", str(error))


def _switched(life: Heartbeat, held: HeldNode, *, changed: bool) -> AutobackupSwitched:
    return AutobackupSwitched(
        enabled=True,
        changed=changed,
        node=held.node,
        every_s=life.every_s,
        next_time=life.next_time,
        workspace_exists=life.workspace_exists,
    )
