"""Passes a request from the login host to the node of the profile's job."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

import msgspec

from scratchflow.agent.request import asking
from scratchflow.agent.upload import unframed
from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.cluster.this_host import node_name
from scratchflow.config.settings import Settings
from scratchflow.dispatch.located import with_store_found
from scratchflow.dispatch.operations import do_here
from scratchflow.model.events import Emit
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import FIRST, Arguments, DryRun, KnownJob, StoreSeen, Where
from scratchflow.model.results import RESULTS_BY_OP, Result
from scratchflow.node.same_store import store_seen_here
from scratchflow.reach.job_scratch import scratch_of_job
from scratchflow.reach.node import node_transport
from scratchflow.reach.node_agent import ask_node, require_allocation, require_node_of
from scratchflow.ssh.transport.base import Feed
from scratchflow.store.checks.freshness import growing
from scratchflow.store.directory import find_place
from scratchflow.workspace.workspace import expand


def relay(
    settings: Settings,
    do: str,
    arguments: Arguments,
    environment: Mapping[str, str],
    emit: Emit,
    *,
    where: Where = FIRST,
    verbose: bool,
    feed: Feed | None = None,
) -> Result:
    """Runs it on the node of the profile's allocation; AllocationMissing without one.

    `where` may say of which job, or on which of its nodes. `feed` goes to the agent there as it comes.
    """
    settings = with_store_found(settings, environment)
    slurm = this_slurm(environment)
    held = require_allocation(slurm, settings.name, where.job_id)
    if where.node:
        held = held.on(require_node_of(held, where.node))
    scratch = scratch_of_job(settings, held, environment, slurm, emit)
    if held.node == node_name(environment):
        received = unframed(feed) if feed else None
        return do_here(
            do,
            settings,
            arguments,
            emit,
            wants_items=verbose,
            received=received,
            job=KnownJob(held.name, scratch),
        )
    request = asking(
        do,
        msgspec.to_builtins(arguments),
        profile_name=settings.name,
        profile=to_plain(settings.profile),
        verbose=verbose,
    )
    request = msgspec.structs.replace(
        request, feeds=feed is not None, job_name=held.name, scratch=scratch
    )
    seen = _store_seen(settings, do, arguments, environment)
    there = node_transport(held, settings.name, environment)
    with _growing_for(settings, do, environment) as name:
        if seen is not None:
            seen = msgspec.structs.replace(seen, grows=name)
        request = msgspec.structs.replace(request, store_seen=seen)
        data = ask_node(there, request, emit, settings, slurm, feed)
    return msgspec.convert(data, RESULTS_BY_OP[do])


def _store_seen(
    settings: Settings, do: str, arguments: Arguments, environment: Mapping[str, str]
) -> StoreSeen | None:
    """The store as this host sees it, for the node to compare. What only looks makes no store."""
    store = expand(settings.profile.store, environment)
    is_look = do == "check node" or (isinstance(arguments, DryRun) and arguments.dry_run)
    home = expand("~", environment)
    return store_seen_here(store, settings.profile.workspace, home, make=not is_look)


def _growing_for(
    settings: Settings, do: str, environment: Mapping[str, str]
) -> AbstractContextManager[str]:
    """The file by which `check node` finds out how late the node sees what this host writes."""
    if do != "check node":
        return nullcontext("")
    store = expand(settings.profile.store, environment)
    return growing(find_place(store, settings.profile.workspace))
