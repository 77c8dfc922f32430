"""The agent on the node: one request to it, for the job that holds the node."""

from __future__ import annotations

import time
from pathlib import Path

from scratchflow.agent.client import call, call_healed
from scratchflow.agent.name import agent_command
from scratchflow.agent.request import Request
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.jobs import job, our_jobs
from scratchflow.cluster.slurm.step_refused import is_refused
from scratchflow.cluster.slurm.wait import ended_error, forgotten_error
from scratchflow.config.settings import Settings
from scratchflow.model.allocation import HELD, OPEN, Allocation, RunningAllocation, with_node
from scratchflow.model.errors.agent import AgentMissing
from scratchflow.model.errors.allocation import (
    AllocationMissing,
    AllocationWaiting,
    NodeNotOfJob,
    NodeSilent,
)
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.events import Emit
from scratchflow.reach.installing import install_for
from scratchflow.reach.node import NodeTransport
from scratchflow.reach.node_watch import NodeWatch
from scratchflow.ssh.transport.base import Feed
from scratchflow.ssh.transport.local import LocalTransport
from scratchflow.workspace.current_job import noted_job, worked_in

STEP_WAIT_S = 20.0
_AGAIN_S = 2.0


def require_allocation(
    slurm: Slurm, profile: str, home: Path, job_id: int | None = None
) -> RunningAllocation:
    """The profile's running allocation; should there be several, the one that is worked in; or just this one.

    AllocationMissing when there is none, AllocationWaiting while the request waits; what became of the one
    that was asked for when it was that one.
    """
    jobs = our_jobs(slurm, profile, ended=job_id is not None)
    wanted = [found for found in jobs if job_id in {None, found.job_id}]
    running = [found for found in with_node(wanted) if found.state == "running"]
    noted = noted_job(home, profile) if len(running) > 1 else None
    meant = worked_in(running, noted)
    if meant is not None:
        return meant
    for found in wanted:
        if found.state == "pending":
            raise AllocationWaiting.of_job(found.job_id, found.reason_text)
    if job_id is None or any(found.state in OPEN for found in wanted):
        raise AllocationMissing(profile=profile)
    raise ended_error(wanted[-1]) if wanted else forgotten_error(job_id)


def require_node_of(held: RunningAllocation, named: str) -> str:
    """The node of the job that is meant; NodeNotOfJob when it has none of that name or number."""
    node = held.find(named)
    if node is None:
        raise NodeNotOfJob(node=named, job_id=held.job_id, nodes=", ".join(held.nodes))
    return node


def ask_node(
    node: NodeTransport,
    request: Request,
    emit: Emit,
    settings: Settings,
    slurm: Slurm,
    feed: Feed | None = None,
) -> dict[str, object]:
    """What the agent on the node answers; says that the job has ended when that is why nothing comes.

    Where there is no agent yet it is installed first: homes are shared with the nodes. With a `feed` it is
    asked once: what was fed to nobody is gone.
    """

    def heal(error: ScratchflowError) -> None:
        require_running(node.allocation, slurm, error)
        install_for(settings, LocalTransport(), emit)

    try:
        if feed is not None:
            return _call(node, request, emit, slurm, feed)
        return call_healed(lambda: _call(node, request, emit, slurm), heal)
    except EndedBySignal as error:
        # Slurm ends its steps with one; whoever asked was sent none.
        require_running(node.allocation, slurm, error)
        raise
    except (AgentMissing, ConnectionLost) as error:
        require_running(node.allocation, slurm, error)
        raise _silent(node, error) from error


def _call(
    node: NodeTransport, request: Request, emit: Emit, slurm: Slurm, feed: Feed | None = None
) -> dict[str, object]:
    """Asks again while Slurm gives the running job no step: it does not yet, right after its start."""
    until = time.monotonic() + STEP_WAIT_S
    while True:
        watch = NodeWatch(node, lambda: _as_it_is(node.allocation, slurm))
        try:
            return call(watch, request, emit, command=agent_command(), meet=watch.meet, feed=feed)
        except ConnectionLost as error:
            _require_waited(watch, node, slurm, error)
            raise
        except AgentMissing as error:
            _require_waited(watch, node, slurm, error)
            is_last = feed is not None or time.monotonic() > until
            if not is_refused(error.fields["reason"]) or is_last:
                raise
            require_running(node.allocation, slurm, error)
        time.sleep(_AGAIN_S)


def _require_waited(
    watch: NodeWatch, node: NodeTransport, slurm: Slurm, error: ScratchflowError
) -> None:
    """Says why the node was given up, when it was not the agent that ended."""
    if watch.given_up:
        require_running(node.allocation, slurm, error)
        job_id = node.allocation.job_id
        raise NodeSilent(node=node.host, job_id=job_id, reason=watch.given_up) from error


def _silent(node: NodeTransport, error: ScratchflowError) -> NodeSilent:
    reason = error.fields.get("reason", error)
    return NodeSilent(node=node.host, job_id=node.allocation.job_id, reason=reason)


def _as_it_is(held: RunningAllocation, slurm: Slurm) -> Allocation:
    return job(slurm, held.job_id, held.name)


def require_running(held: RunningAllocation, slurm: Slurm, error: ScratchflowError) -> None:
    """Says that the job has ended, when that is why nobody answers."""
    now = _as_it_is(held, slurm)
    if now.state not in HELD:
        raise ended_error(now) from error
