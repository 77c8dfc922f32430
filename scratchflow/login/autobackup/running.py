"""The loop of the auto-backup on a node, as the login host sees it: whether it runs, and how it is told to end."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from scratchflow.cluster.slurm.jobs import job
from scratchflow.cluster.slurm.lasting_step import signal_step, step_runs
from scratchflow.cluster.this_host import node_name
from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import HELD, RunningAllocation, ThisMachine
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.workspace import AutobackupFailed
from scratchflow.node.autobackup.other_profile import beats_for_other_profile
from scratchflow.node.autobackup.signals import is_agent
from scratchflow.process.waiting import looks
from scratchflow.reach.node import NodeSsh
from scratchflow.reach.node_agent import require_allocation
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.heartbeats import Heartbeat, current, is_alive, log_path
from scratchflow.workspace.workspace import expand

STOP_S = 60.0
"""How long it may take to end: it finishes a backup that is under way."""
_LOOK_S = 0.1
_LOOK_AT_JOB_S = 3.0
_SIGNAL_S = 20.0
# The number was read from a file, and is given out again: it has to be an agent's still.
_SIGNAL = 'tr "\\0" "\\n" < "/proc/$1/cmdline" | grep -qx agent && kill -s "$2" "$1"'
_GONE = 1
HeldNode = RunningAllocation | ThisMachine


def held_node(login: LoginHost, job_id: int | None = None) -> HeldNode:
    """The allocation whose node is to be saved; without a scheduler, this machine."""
    if login.profile.scheduler == "slurm":
        return require_allocation(login.slurm, login.settings.name, login.home, job_id)
    node = node_name(login.environment)
    found = none.allocation(login.tmux, login.settings.name, node) if login.has_tmux else None
    return found or ThisMachine(name="", nodes=(node,))


def heartbeat_on(place: StoreDirectory, held: HeldNode) -> Heartbeat | None:
    """What the loop of this very job last said, unless that was its end."""
    return current(place, held.node, held.job_id, held.name)


def running_on(login: LoginHost, place: StoreDirectory, held: HeldNode) -> Heartbeat | None:
    """The loop of this very job, if it runs: Slurm knows the step, or its machine the process.

    Slurm or the machine decides; the age of the last heartbeat counts only if neither answers.
    """
    life = heartbeat_on(place, held)
    if life is None:
        return None
    runs: bool | None
    if held.job_id is None:
        runs = is_agent(life.pid)
    elif life.step_id is not None:
        runs = step_runs(login.slurm, held.job_id, life.step_id)
    else:
        runs = signal_over_ssh(login, held, life, "0")
    if runs is None:
        runs = is_alive(life, time.time()) is not False
    return life if runs else None


def loop_of_other_profile(
    login: LoginHost, place: StoreDirectory, held: HeldNode
) -> Heartbeat | None:
    """The loop of another profile's job that has this workspace in this store on that node, if Slurm has its step.

    `saves_the_same` tells whether it does the work of one of this profile.
    """
    if held.job_id is None:
        return None
    life = beats_for_other_profile(place, held.node, held.job_id, login.settings.name)
    if life is None or life.job_id is None or life.step_id is None:
        return None
    return life if step_runs(login.slurm, life.job_id, life.step_id) else None


def signal_over_ssh(
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
            life = heartbeat_on(find_place(store_of(login), login.profile.workspace), there)
            if life is not None and life.step_id is None:
                signal_over_ssh(login, there, life, "TERM")


def stop_loop(login: LoginHost, place: StoreDirectory, held: HeldNode, life: Heartbeat) -> None:
    """Tells the loop to end, and waits until it has; AutobackupFailed when it does not."""
    if held.job_id is not None and life.step_id is not None:
        signal_step(login.slurm, held.job_id, life.step_id, "USR1")
    elif held.job_id is not None:
        if signal_over_ssh(login, held, life, "USR1") is None and not is_over(login, held):
            reason = "it could not be told: the node gives no answer over ssh"
            raise AutobackupFailed(node=held.node, reason=reason, log=log_path(place, life.node))
    elif is_agent(life.pid):
        with suppress(ProcessLookupError):
            os.kill(life.pid, signal.SIGUSR1)
    look_at = login.clock.monotonic() + _LOOK_AT_JOB_S
    for _ in looks(STOP_S, _LOOK_S, login.clock):
        now = heartbeat_on(place, held)
        if now is None or now.token != life.token:
            return
        if login.clock.monotonic() > look_at:
            if is_over(login, held) or running_on(login, place, held) is None:
                return  # it ended with its job, or was killed, and left no word
            look_at = login.clock.monotonic() + _LOOK_AT_JOB_S
    raise AutobackupFailed(node=held.node, reason="it does not end", log=log_path(place, held.node))


def is_over(login: LoginHost, held: HeldNode) -> bool:
    """Whether the job has ended meanwhile."""
    if held.job_id is None:
        return False
    return job(login.slurm, held.job_id, held.name).state not in HELD


def store_of(login: LoginHost) -> Path:
    """The store as this host has it."""
    return expand(login.profile.store, login.environment)
