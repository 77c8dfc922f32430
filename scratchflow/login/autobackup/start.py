"""Starts the loop of the auto-backup on a node, and waits for its first sign of life."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.agent.name import agent_command, own_command
from scratchflow.agent.request import asking, encode
from scratchflow.agent.stream import Garbled, as_error, parse_line
from scratchflow.cluster.slurm.lasting_step import LastingStep, output_file, start_lasting_step
from scratchflow.cluster.slurm.request import profile_of
from scratchflow.cluster.this_host import node_name
from scratchflow.login.autobackup.running import HeldNode, heartbeat_on, store_of
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.workspace import AutobackupFailed
from scratchflow.model.events import Failure, Progress
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import Autobackup
from scratchflow.node.autobackup.other_profile import other_profile_there
from scratchflow.node.autobackup.settings import saves_the_same
from scratchflow.node.same_store import store_replaced, store_seen_here
from scratchflow.process.waiting import looks
from scratchflow.reach.installing import install_for
from scratchflow.reach.node import node_transport
from scratchflow.reach.node_agent import require_running
from scratchflow.ssh.transport.local import LocalTransport
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.failures import store_errors
from scratchflow.store.heartbeats import Heartbeat, Pulses, log_path, prepare, read_heartbeat
from scratchflow.workspace.workspace import find_workspace

_LOOK_S = 0.1


START_S = 60.0
"""How long the loop may take to give its first sign of life: one of a job before may have to end first."""


def start_loop(login: LoginHost, held: HeldNode, *, beside: bool) -> Heartbeat:
    """Starts it; its first sign of life. `beside` on a further node, whose changes become a fork."""
    if held.job_id is None:
        _require_store_of_workspace(login)
    place = open_place(store_of(login), login.profile.workspace)
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
    mirror, name = login.profile.backup.mirror, login.profile.workspace
    seen = store_seen_here(store_of(login), name, login.home, login.emit, make=True, mirror=mirror)
    scratch = "" if held.job_id is None else login.scratch_of(held)
    request = encode(
        msgspec.structs.replace(asked, store_seen=seen, job_name=held.name, scratch=scratch)
    )
    log = log_path(place, held.node)
    if held.job_id is None:
        step: LastingStep = _start_here(request, log)
    else:
        _require_agent(login)
        login.emit(Progress(phase="starting the auto-backup"))
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
    node, mirror = node_name(login.environment), login.profile.backup.mirror
    replaced = store_replaced(workspace, store_of(login), node, mirror=mirror)
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
        life = heartbeat_on(place, held)
        # It ends well at once when another start was quicker: that one's life is as good.
        if life is not None and (
            life.token == token or (step.has_ended_well() and _beats(pulses, life))
        ):
            return life
        failure = step.failure()
        if failure and (error := _agent_error(step.output_lines())):
            raise error
        if step.has_ended_well() and (other := _other_job(pulses, place, held)):
            is_ours = profile_of(other.job_name) in {None, login.settings.name}
            if not is_ours and not saves_the_same(login.profile, other.settings):
                raise other_profile_there(other, login.profile.workspace)
            shared = (
                f"that of job {other.job_id} saves the same workspace there, until that job ends;"
                f" another `workspace` in profile `{login.settings.name}` keeps the two apart"
            )
            log = log_path(place, held.node)
            raise AutobackupFailed(node=held.node, reason=shared, log=log)
        if failure:
            break
    silent = "it gives no sign of life"
    reason = f"another one runs there, but {silent}" if step.has_ended_well() else failure
    raise AutobackupFailed(node=held.node, reason=reason or silent, log=log_path(place, held.node))


def _other_job(pulses: Pulses, place: StoreDirectory, held: HeldNode) -> Heartbeat | None:
    """What another job's loop on that node last said of this workspace, if it is alive: two profiles may name one workspace."""
    life = read_heartbeat(place, held.node)
    if life is None or life.phase == "ended" or life.is_of(held.job_id, held.name):
        return None
    return life if life.job_id is not None and _beats(pulses, life) else None


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
    with store_errors(log):
        said = log.open("wb")
    with said:
        output = output_file()
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
