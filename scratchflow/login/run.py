"""`run` and `shell`, on the login host: what starts a command on the node, and the window for one that is left alone."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence

import msgspec

from scratchflow.cluster.slurm.request import UNBUFFERED, step_argv, terminal_step_argv
from scratchflow.cluster.this_host import node_name, slurm_variables
from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.login.current_job import current_job_note
from scratchflow.login.host import LoginHost
from scratchflow.login.session import ready_session
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.requests import CarrierOf, RunDetached, Session
from scratchflow.model.results.run import OtherCarrier, RunCarrier, RunWindow
from scratchflow.process.far_words import quoted
from scratchflow.reach.node import cpus_are_bound, keys_on_login, steps_overlap
from scratchflow.reach.node_agent import require_allocation
from scratchflow.ssh.transport.node import know_node, neighbour_argv


def carrier(login: LoginHost, asked: CarrierOf) -> RunCarrier:
    """What runs a command on the node of the profile's allocation, or of this job; AllocationMissing without one."""
    shell = [login.shell, "-l"]
    if login.profile.scheduler == "none":
        node = node_name(login.environment)
        if none.allocation(login.tmux, login.settings.name, node) is None:
            raise AllocationMissing(profile=login.settings.name)
        return RunCarrier(job_id=None, node=node, argv=[], terminal_argv=[], shell=shell)
    held = require_allocation(login.slurm, login.settings.name, login.home, asked.job_id)
    overlap = steps_overlap(login.environment)

    def by(on: RunningAllocation) -> RunCarrier:
        if overlap:
            return _by_step(login, on, shell, UNBUFFERED if asked.unbuffered else ())
        return _by_ssh(login, on, shell)

    others = [by(held.on(node)) for node in held.nodes[1:]]
    return msgspec.structs.replace(
        by(held),
        others=[OtherCarrier(node=one.node, argv=one.argv) for one in others],
    )


def _by_step(
    login: LoginHost, held: RunningAllocation, shell: list[str], options: Sequence[str]
) -> RunCarrier:
    """`srun` with its whole path: ssh starts it without a login shell, which may be what finds it."""
    environment = login.environment
    srun = shutil.which("srun", path=environment.get("PATH")) or "srun"
    conf = environment.get("SLURM_CONF")
    start = [*(["env", f"SLURM_CONF={conf}"] if conf else []), srun]
    binding = cpus_are_bound(environment)
    terminal = terminal_step_argv(held.job_id, held.node, binding=binding)
    return RunCarrier(
        job_id=held.job_id,
        node=held.node,
        argv=[*start, *step_argv(held.job_id, held.node, [], options=options)[1:]],
        terminal_argv=[*start, *terminal[1:]],
        shell=shell,
        current=current_job_note(login, held.job_id),
    )


def _by_ssh(login: LoginHost, held: RunningAllocation, shell: list[str]) -> RunCarrier:
    """Where steps cannot run beside each other; told what a step would know of its job."""
    keys, profile = keys_on_login(), login.settings.name
    know_node(keys, profile, held.node)
    job = slurm_variables(held.job_id, held.node, login.environment)
    # Without its last argument, the command: the words come later.
    ssh = [str(word) for word in neighbour_argv(keys, profile, held.node, ["true"])[:-1]]
    in_job = shlex.join(["env", *job])
    return RunCarrier(
        job_id=held.job_id,
        node=held.node,
        argv=[*ssh, in_job],
        terminal_argv=["-tt" if word == "-T" else word for word in [*ssh, in_job]],
        quotes=True,
        shell=shell,
    )


def run_detached(login: LoginHost, asked: RunDetached) -> RunWindow:
    """Starts the command in a window of our session, where it outlives whoever asked. `attach` shows it."""
    ready = ready_session(login, Session())
    if not ready.is_here:
        ready = ready_session(login, Session(rebuild=True))
    carried = carrier(login, CarrierOf())
    words = list(asked.argv)
    job = "here" if carried.job_id is None else str(carried.job_id)
    argv = [*carried.terminal_argv, *([quoted(words)] if carried.quotes else words)]
    window = login.tmux.open_window(login.settings.name, asked.program, argv, run=job)
    return RunWindow(session=ready.session, window=window, host=ready.host)
