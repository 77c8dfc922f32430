"""From the login host onto the node: a request, done for the job that holds it."""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from scratchflow.agent.client import call
from scratchflow.agent.install import agent_command, install
from scratchflow.agent.request import Request, asking
from scratchflow.cluster.slurm import Slurm, this_slurm
from scratchflow.cluster.slurm_jobs import job, our_jobs
from scratchflow.cluster.slurm_wait import ended_error
from scratchflow.cluster.step_refused import is_refused
from scratchflow.cluster.whereami import node_name
from scratchflow.config.settings import Settings
from scratchflow.flows.node_watch import NodeWatch
from scratchflow.flows.onto_node import Way, way_onto
from scratchflow.flows.same_store import store_seen_here
from scratchflow.flows.served import do_here
from scratchflow.model.allocation import HELD, Allocation
from scratchflow.model.errors import (
    AgentMissing,
    AllocationMissing,
    ConnectionLost,
    EndedBySignal,
    NodeSilent,
    ScratchflowError,
)
from scratchflow.model.events import Emit
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import Arguments, DryRun, StoreSeen
from scratchflow.model.results import RESULTS_BY_OP, Result
from scratchflow.ssh.local import LocalTransport
from scratchflow.store.place import find_place, open_place
from scratchflow.workspace.place import expand

STEP_WAIT_S = 20.0
_AGAIN_S = 2.0


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
    seen = _store_seen(settings, do, wish, environment)
    request = msgspec.structs.replace(request, store_seen=seen)
    way = way_onto(held, settings.name, environment)
    data = _ask(way, request, emit, settings, slurm)
    return msgspec.convert(data, RESULTS_BY_OP[do])


def _store_seen(
    settings: Settings, do: str, wish: Arguments, environment: Mapping[str, str]
) -> StoreSeen | None:
    """The store as this host sees it, for the node to compare. What only looks makes no store."""
    store = expand(settings.profile.store, environment)
    is_look = do == "check node" or (isinstance(wish, DryRun) and wish.dry_run)
    find = find_place if is_look else open_place
    place = find(store, settings.profile.workspace)
    return store_seen_here(place, str(store), make=not is_look)


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


def _ask(
    way: Way, request: Request, emit: Emit, settings: Settings, slurm: Slurm
) -> dict[str, object]:
    try:
        return _call(way, request, emit, slurm)
    except AgentMissing as error:
        require_running(way.held, slurm, error)
    except EndedBySignal as error:
        # Slurm ends its steps with one; whoever asked was sent none.
        require_running(way.held, slurm, error)
        raise
    except ConnectionLost as error:
        require_running(way.held, slurm, error)
        raise _silent(way, error) from error
    # A command line on the login host has no agent beside it yet; homes are shared with the nodes.
    modules = settings.profile.environment.modules
    install(LocalTransport(), profile_name=settings.name, modules=modules, emit=emit)
    try:
        return _call(way, request, emit, slurm)
    except AgentMissing as error:
        require_running(way.held, slurm, error)
        raise _silent(way, error) from error


def _call(way: Way, request: Request, emit: Emit, slurm: Slurm) -> dict[str, object]:
    """Asks again while Slurm gives the running job no step: it does not yet, right after its start."""
    until = time.monotonic() + STEP_WAIT_S
    while True:
        watch = NodeWatch(way, lambda: _as_it_is(way.held, slurm))
        try:
            return call(watch, request, emit, command=agent_command(), meet=watch.meet)
        except ConnectionLost as error:
            _require_waited(watch, way, slurm, error)
            raise
        except AgentMissing as error:
            _require_waited(watch, way, slurm, error)
            if not is_refused(error.fields["reason"]) or time.monotonic() > until:
                raise
            require_running(way.held, slurm, error)
        time.sleep(_AGAIN_S)


def _require_waited(watch: NodeWatch, way: Way, slurm: Slurm, error: ScratchflowError) -> None:
    """Says why the node was given up, when it was not the agent that ended."""
    if watch.given_up:
        require_running(way.held, slurm, error)
        raise NodeSilent(node=way.host, job_id=way.held.job_id, reason=watch.given_up) from error


def _silent(way: Way, error: ScratchflowError) -> NodeSilent:
    reason = error.fields.get("reason", error)
    return NodeSilent(node=way.host, job_id=way.held.job_id, reason=reason)


def _as_it_is(held: Allocation, slurm: Slurm) -> Allocation:
    return job(slurm, held.job_id or 0, held.name)


def require_running(held: Allocation, slurm: Slurm, error: ScratchflowError) -> None:
    """Says that the job has ended, when that is why nobody answers."""
    now = _as_it_is(held, slurm)
    if now.state not in HELD:
        raise ended_error(now) from error
