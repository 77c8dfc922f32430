"""`autobackup on|off|status`, on the login host: the loop on each node started, ended, looked at."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.agent.name import agent_command, own_command
from scratchflow.agent.request import asking, encode
from scratchflow.agent.stream import Garbled, as_error, parse_line
from scratchflow.cluster.slurm.jobs import job
from scratchflow.cluster.slurm.lasting_step import (
    LastingStep,
    output_file,
    signal_step,
    start_lasting_step,
    step_runs,
)
from scratchflow.cluster.this_host import node_name
from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.login.current_job import note_current_job
from scratchflow.login.host import LoginHost
from scratchflow.login.status.store import Now, autobackup_shown, read_node_files
from scratchflow.model.allocation import HELD, RunningAllocation, ThisMachine
from scratchflow.model.errors import (
    AllocationMissing,
    AutobackupFailed,
    OtherNodeFailed,
    ScratchflowError,
    TmuxFailed,
)
from scratchflow.model.events import Failure
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import Autobackup, DryRun, Nothing, SwitchOn
from scratchflow.model.results import AutobackupStatus, AutobackupSwitched
from scratchflow.node.autobackup.settings import settings_digest
from scratchflow.node.autobackup.signals import is_agent
from scratchflow.node.same_store import store_replaced, store_seen_here
from scratchflow.process.waiting import looks
from scratchflow.reach.installing import install_for
from scratchflow.reach.node import NodeSsh, node_transport
from scratchflow.reach.node_agent import require_allocation, require_running
from scratchflow.ssh.transport.local import LocalTransport
from scratchflow.store.directory import StoreDirectory, find_place, open_place
from scratchflow.store.heartbeats import Heartbeat, Pulses, current, is_alive, log_path, prepare
from scratchflow.store.known import store_lost
from scratchflow.workspace.workspace import expand, find_workspace

START_S = 60.0
"""How long the loop may take to give its first sign of life: one of a job before may have to end first."""
STOP_S = 60.0
"""How long it may take to end: it finishes a backup that is under way."""
_LOOK_S = 0.1
_LOOK_AT_JOB_S = 3.0
_SIGNAL_S = 20.0
# The number was read from a file, and is given out again: it has to be an agent's still.
_SIGNAL = 'tr "\\0" "\\n" < "/proc/$1/cmdline" | grep -qx agent && kill -s "$2" "$1"'
_GONE = 1

HeldNode = RunningAllocation | ThisMachine


def switch_on(login: LoginHost, arguments: SwitchOn) -> AutobackupSwitched:
    """Makes sure that the loop runs on every node of the job, with the interval of the profile."""
    held = held_node(login, arguments.job_id)
    if isinstance(held, RunningAllocation) and not arguments.dry_run:
        note_current_job(login, held.job_id)  # `up` and `hop` end here: from now on this is the job

    def do(on: LoginHost, there: HeldNode) -> AutobackupSwitched:
        return _switch_on(on, there, arguments, beside=there.node != held.node)

    return _on_every_node(login, held, do)


def _switch_on(
    login: LoginHost, held: HeldNode, arguments: SwitchOn, *, beside: bool
) -> AutobackupSwitched:
    place = find_place(_store(login), login.profile.workspace)
    life = _running_on(login, place, held)
    every_s = login.profile.backup.every.seconds
    if life is not None and _is_as_wanted(login, life):
        return _switched(life, held, changed=False)
    if arguments.dry_run:
        return AutobackupSwitched(
            enabled=True, changed=True, node=held.node, every_s=every_s, dry_run=True
        )
    if life is not None:
        _stop(login, place, held, life)
    life = _start(login, held, beside=beside)
    if not beside:
        _show_log(login, place, held)
    return _switched(life, held, changed=True)


def is_on(login: LoginHost, held: HeldNode) -> AutobackupSwitched | None:
    """What `switch_on` says when there is nothing to do; None when a loop has to be started, or started again."""
    place = find_place(_store(login), login.profile.workspace)
    further = map(held.on, held.nodes[1:]) if isinstance(held, RunningAllocation) else ()
    lives = [_running_on(login, place, there) for there in (held, *further)]
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
    place = find_place(_store(login), login.profile.workspace)
    life = _running_on(login, place, held)
    every_s = login.profile.backup.every.seconds
    if life is not None and not arguments.dry_run:
        _stop(login, place, held, life)
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
    further = _FurtherNodes(login, held, do)
    try:
        first = do(login, held)
    finally:
        further.wait()
    for node, error in further.failed.items():
        login.caution(OtherNodeFailed.code, f"`{node}`: {error}")
    changed = first.changed or any(one.changed for one in further.done.values())
    others = [node for node in held.nodes[1:] if node in further.done]
    return msgspec.structs.replace(first, changed=changed, others=others)


class _FurtherNodes:
    """The further nodes of a job, each in a thread of its own. Interrupted, the process ends, and they end with it."""

    def __init__(
        self,
        login: LoginHost,
        held: HeldNode,
        do: Callable[[LoginHost, HeldNode], AutobackupSwitched],
    ) -> None:
        self.done: dict[str, AutobackupSwitched] = {}
        self.failed: dict[str, ScratchflowError] = {}
        self._bugs: list[BaseException] = []
        # Only the first node speaks: two threads would mix their lines.
        self._login = msgspec.structs.replace(login, emit=lambda _: None)
        self._do = do
        places = map(held.on, held.nodes[1:]) if isinstance(held, RunningAllocation) else ()
        self._threads = [
            threading.Thread(target=self._run, args=(there,), name=there.node, daemon=True)
            for there in places
        ]
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        """Returns when all are through."""
        for thread in self._threads:
            thread.join()
        if self._bugs:
            raise self._bugs[0]

    def _run(self, there: RunningAllocation) -> None:
        try:
            self.done[there.node] = self._do(self._login, there)
        except ScratchflowError as error:
            self.failed[there.node] = error
        except BaseException as bug:  # noqa: BLE001 - raised again where somebody reports it
            self._bugs.append(bug)


def show(login: LoginHost, _: Nothing) -> AutobackupStatus:
    """Shows its last heartbeat; StoreLost when nobody can say, because the store is away."""
    place = find_place(_store(login), login.profile.workspace)
    lost = store_lost(login.home, place, login.host)
    if lost is not None:
        raise lost
    try:
        held: HeldNode | None = held_node(login)
    except AllocationMissing:
        held = None
    node = held.node if held else None
    return AutobackupStatus(
        node=node,
        autobackup=autobackup_shown(login.settings, place, read_node_files(place), held, Now()),
        log=str(log_path(place, node)) if node else None,
    )


def held_node(login: LoginHost, job_id: int | None = None) -> HeldNode:
    """The allocation whose node is to be saved; without a scheduler, this machine."""
    if login.profile.scheduler == "slurm":
        return require_allocation(login.slurm, login.settings.name, login.home, job_id)
    node = node_name(login.environment)
    found = none.allocation(login.tmux, login.settings.name, node) if login.has_tmux else None
    return found or ThisMachine(name="", nodes=(node,))


def _is_as_wanted(login: LoginHost, life: Heartbeat) -> bool:
    """Whether it runs with the profile's settings, and is not silent: such a one is started again."""
    if is_alive(life, time.time()) is False:
        return False
    return life.settings in {"", settings_digest(login.profile)} and (
        life.every_s == login.profile.backup.every.seconds
    )


def _heartbeat_on(place: StoreDirectory, held: HeldNode) -> Heartbeat | None:
    """What the loop of this very job last said, unless that was its end."""
    return current(place, held.node, held.job_id, held.name)


def _running_on(login: LoginHost, place: StoreDirectory, held: HeldNode) -> Heartbeat | None:
    """The loop of this very job, if it runs: Slurm knows the step, or its machine the process.

    Slurm or the machine decides; the age of the last heartbeat counts only if neither answers.
    """
    life = _heartbeat_on(place, held)
    if life is None:
        return None
    runs: bool | None
    if held.job_id is None:
        runs = is_agent(life.pid)
    elif life.step_id is not None:
        runs = step_runs(login.slurm, held.job_id, life.step_id)
    else:
        runs = _signal_over_ssh(login, held, life, "0")
    if runs is None:
        runs = is_alive(life, time.time()) is not False
    return life if runs else None


def _signal_over_ssh(
    login: LoginHost, held: RunningAllocation, life: Heartbeat, name: str
) -> bool | None:
    """Sends a signal to a loop that is no step; whether there is one, None when the node does not say."""
    argv = ["sh", "-c", _SIGNAL, "sh", str(life.pid), name]
    try:
        node = NodeSsh(held, login.settings.name, login.environment)
        code = node.run(argv, timeout_s=_SIGNAL_S).returncode
    except ScratchflowError:
        return None
    return code == 0 if code in {0, _GONE} else None


def tell_job_ends(login: LoginHost, held: RunningAllocation) -> None:
    """Sends a loop that is not a job step the signal that Slurm sends to steps when a job is cancelled.

    Done before the job is cancelled: afterwards ssh may be refused. A loop that misses it asks Slurm.
    """
    for there in map(held.on, held.nodes):
        with suppress(ScratchflowError):
            life = _heartbeat_on(find_place(_store(login), login.profile.workspace), there)
            if life is not None and life.step_id is None:
                _signal_over_ssh(login, there, life, "TERM")


def _start(login: LoginHost, held: HeldNode, *, beside: bool) -> Heartbeat:
    if held.job_id is None:
        _require_store_of_workspace(login)
    place = open_place(_store(login), login.profile.workspace)
    prepare(place)
    token = os.urandom(8).hex()
    arguments = Autobackup(token=token, job_name=held.name, end_time=held.end_time, beside=beside)
    asked = asking(
        "autobackup run",
        msgspec.to_builtins(arguments),
        profile_name=login.settings.name,
        profile=to_plain(login.profile),
        hold_stdin=False,
    )
    seen = store_seen_here(_store(login), login.profile.workspace, login.home, make=True)
    scratch = "" if held.job_id is None else login.scratch_of(held)
    request = encode(
        msgspec.structs.replace(asked, store_seen=seen, job_name=held.name, scratch=scratch)
    )
    log = log_path(place, held.node)
    if held.job_id is None:
        step: LastingStep = _start_here(request, log)
    else:
        _require_agent(login)
        step = _start_on_node(login, held, request)
    try:
        return _first_sign(login, step, place, held, token)
    except AutobackupFailed as error:
        if held.job_id is not None:
            require_running(held, login.slurm, error)
        raise


def _require_store_of_workspace(login: LoginHost) -> None:
    """On one machine: StoreReplaced before anything is written to a store that is another one."""
    workspace = find_workspace(login.profile, login.environment)
    replaced = store_replaced(workspace, _store(login), node_name(login.environment))
    if replaced is not None:
        raise replaced


def _start_on_node(login: LoginHost, held: RunningAllocation, request: bytes) -> LastingStep:
    node = node_transport(held, login.settings.name, login.environment)
    argv = node.carried(agent_command())
    try:
        return start_lasting_step(argv, stdin=request, environment=node.environment)
    except OSError as error:
        raise node.not_started(error) from None


def _first_sign(
    login: LoginHost, step: LastingStep, place: StoreDirectory, held: HeldNode, token: str
) -> Heartbeat:
    try:
        life = _wait_for_sign(login, step, place, held, token)
    except BaseException:
        step.give_up()
        raise
    step.cut_loose()
    return life


def _wait_for_sign(
    login: LoginHost, step: LastingStep, place: StoreDirectory, held: HeldNode, token: str
) -> Heartbeat:
    pulses = Pulses()
    failure = None
    for _ in looks(START_S, _LOOK_S, login.clock):
        life = _heartbeat_on(place, held)
        # It ends well at once when another start was quicker: that one's life is as good.
        if life is not None and (
            life.token == token or (step.has_ended_well() and _beats(pulses, life))
        ):
            return life
        failure = step.failure()
        if failure and (error := _agent_error(step.output_lines())):
            raise error
        if failure:
            break
    silent = "it gives no sign of life"
    reason = f"another one runs there, but {silent}" if step.has_ended_well() else failure
    raise AutobackupFailed(node=held.node, reason=reason or silent, log=log_path(place, held.node))


def _agent_error(lines: list[bytes]) -> ScratchflowError | None:
    """The error that the agent on the node ended with, if its last line reports one."""
    try:
        event = parse_line(lines[-1]).event if lines else None
    except Garbled:
        return None
    return as_error(event) if isinstance(event, Failure) else None


def _beats(pulses: Pulses, life: Heartbeat) -> bool:
    return pulses.is_alive(life, time.time(), time.monotonic()) is True


def _require_agent(login: LoginHost) -> None:
    """Checks that the agent is installed in the shared home, where the node runs it from."""
    install_for(login.settings, LocalTransport(), login.emit)


def _start_here(request: bytes, log: Path) -> LastingStep:
    """Without a scheduler: a process of this machine, in a session of its own."""
    argv = own_command("agent")
    output = output_file()
    with log.open("wb") as said:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=said,
            start_new_session=True,
        )
    if process.stdin:
        with suppress(BrokenPipeError):
            process.stdin.write(request)
            process.stdin.close()
    return _HereStep(process, "scratchflow agent", output)


class _HereStep(LastingStep):
    """A process on this machine; nothing has to be detached."""

    def cut_loose(self) -> None:
        """Does nothing."""


def _stop(login: LoginHost, place: StoreDirectory, held: HeldNode, life: Heartbeat) -> None:
    if held.job_id is not None and life.step_id is not None:
        signal_step(login.slurm, held.job_id, life.step_id, "USR1")
    elif held.job_id is not None:
        if _signal_over_ssh(login, held, life, "USR1") is None and not _is_over(login, held):
            reason = "it could not be told: the node gives no answer over ssh"
            raise AutobackupFailed(node=held.node, reason=reason, log=log_path(place, life.node))
    elif is_agent(life.pid):
        with suppress(ProcessLookupError):
            os.kill(life.pid, signal.SIGUSR1)
    look_at = login.clock.monotonic() + _LOOK_AT_JOB_S
    for _ in looks(STOP_S, _LOOK_S, login.clock):
        now = _heartbeat_on(place, held)
        if now is None or now.token != life.token:
            return
        if login.clock.monotonic() > look_at:
            if _is_over(login, held) or _running_on(login, place, held) is None:
                return  # it ended with its job, or was killed, and left no word
            look_at = login.clock.monotonic() + _LOOK_AT_JOB_S
    raise AutobackupFailed(node=held.node, reason="it does not end", log=log_path(place, held.node))


def _is_over(login: LoginHost, held: HeldNode) -> bool:
    if held.job_id is None:
        return False
    return job(login.slurm, held.job_id, held.name).state not in HELD


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
    )


def _store(login: LoginHost) -> Path:
    return expand(login.profile.store, login.environment)
