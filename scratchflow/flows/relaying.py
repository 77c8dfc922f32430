"""From the login host onto the node: a request as a step of the job that holds it.

A step needs no sshd on the node, no key on the login host and no open port; it has the job's cores,
and ends with the job.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

import msgspec

from scratchflow.agent.client import call
from scratchflow.agent.install import agent_command, install
from scratchflow.agent.request import Arguments, Request, asking
from scratchflow.cluster.command import command_environment
from scratchflow.cluster.slurm import Slurm
from scratchflow.cluster.slurm_jobs import job, our_jobs
from scratchflow.cluster.slurm_request import step_argv
from scratchflow.cluster.slurm_wait import ended_error
from scratchflow.cluster.whereami import node_name
from scratchflow.config.settings import Settings
from scratchflow.flows.nodes import this_slurm
from scratchflow.flows.served import do_here
from scratchflow.model.allocation import HELD, Allocation
from scratchflow.model.errors import (
    AgentMissing,
    AllocationMissing,
    CommandTimedOut,
    ConnectionLost,
    EndedBySignal,
    NodeSilent,
    ScratchflowError,
    SlurmUnreachable,
)
from scratchflow.model.events import Emit
from scratchflow.model.profile import to_plain
from scratchflow.model.results import RESULTS_BY_OP, Result
from scratchflow.ssh.child import ChildStream, ChildTimedOut, run_child
from scratchflow.ssh.local import LocalTransport
from scratchflow.ssh.transport import Completed, shown_command


def relay(
    settings: Settings,
    do: str,
    wish: Arguments,
    environment: Mapping[str, str],
    emit: Emit,
    *,
    job_id: int | None = None,
    verbose: bool,
) -> Result:
    """Has it done on the node of the profile's allocation; AllocationMissing without one."""
    slurm = this_slurm(environment)
    held = require_allocation(slurm, settings.name, job_id)
    if held.node == node_name(environment):
        return do_here(do, settings, wish, emit, wants_items=verbose)
    request = asking(
        do,
        msgspec.to_builtins(wish),
        profile_name=settings.name,
        profile=to_plain(settings.profile),
        verbose=verbose,
    )
    data = _ask(JobStep(held, environment), request, emit, settings, slurm)
    return msgspec.convert(data, RESULTS_BY_OP[do])


def require_allocation(slurm: Slurm, profile: str, job_id: int | None = None) -> Allocation:
    """The profile's running allocation; the newest, should there be several, or just this one."""
    running = [
        found
        for found in our_jobs(slurm, profile)
        if found.state == "running" and job_id in {None, found.job_id}
    ]
    if not running or running[-1].node is None:
        raise AllocationMissing(profile=profile)
    return running[-1]


class JobStep:
    """The node as a place where commands run: each is a step of the job."""

    def __init__(self, held: Allocation, environment: Mapping[str, str]) -> None:
        if held.job_id is None or held.node is None:
            raise ValueError("there is no job to run a step of")
        self.held = held
        self.host = held.node
        self._environment = command_environment(environment)

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        try:
            return run_child(
                self._step(argv), stdin=stdin, timeout_s=timeout_s, environment=self._environment
            )
        except ChildTimedOut:
            raise CommandTimedOut(
                command=shown_command(argv), host=self.host, seconds=f"{timeout_s:g}"
            ) from None
        except OSError as error:
            raise self._no_srun(error) from None

    def stream(
        self, argv: Sequence[str], *, stdin: bytes = b"", hold_stdin: bool = False
    ) -> ChildStream:
        try:
            return ChildStream(
                self._step(argv), stdin=stdin, hold_stdin=hold_stdin, environment=self._environment
            )
        except OSError as error:
            raise self._no_srun(error) from None

    def _no_srun(self, error: OSError) -> SlurmUnreachable:
        reason = f"`srun` cannot be started ({(error.strerror or 'no reason').lower()})"
        return SlurmUnreachable(host=socket.gethostname(), reason=reason)

    def _step(self, argv: Sequence[str]) -> list[str]:
        return step_argv(self.held.job_id or 0, self.host, argv)


def _ask(
    step: JobStep, request: Request, emit: Emit, settings: Settings, slurm: Slurm
) -> dict[str, object]:
    try:
        return call(step, request, emit, command=agent_command())
    except AgentMissing as error:
        require_running(step.held, slurm, error)
    except EndedBySignal as error:
        # Slurm ends its steps with one; whoever asked was sent none.
        require_running(step.held, slurm, error)
        raise
    except ConnectionLost as error:
        require_running(step.held, slurm, error)
        raise _silent(step, error) from error
    # A command line on the login host has no agent beside it yet; homes are shared with the nodes.
    modules = settings.profile.environment.modules
    install(LocalTransport(), profile_name=settings.name, modules=modules, emit=emit)
    try:
        return call(step, request, emit, command=agent_command())
    except AgentMissing as error:
        require_running(step.held, slurm, error)
        raise _silent(step, error) from error


def _silent(step: JobStep, error: ScratchflowError) -> NodeSilent:
    reason = error.fields.get("reason", error)
    return NodeSilent(node=step.host, job_id=step.held.job_id, reason=reason)


def require_running(held: Allocation, slurm: Slurm, error: ScratchflowError) -> None:
    """Says that the job has ended, when that is why nobody answers."""
    now = job(slurm, held.job_id or 0, held.name)
    if now.state not in HELD:
        raise ended_error(now) from error
