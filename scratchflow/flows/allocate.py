"""`allocate`: a node that is ours, and the alias that leads to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scratchflow.cluster.this_host import node_name
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of, is_login_host
from scratchflow.flows.alias import (
    has_alias,
    point_at,
    require_alias,
    require_alias_beside_login,
    verify,
)
from scratchflow.flows.hold import hold
from scratchflow.model.errors.base import EndedBySignal
from scratchflow.model.events import Emit
from scratchflow.model.requests import Hold
from scratchflow.model.results.allocation import Allocated, NodeHeld
from scratchflow.process.interrupted import Interrupted


def allocate(caller: Caller, emit: Emit, request: Hold) -> Allocated:
    """Reuses the node that is held, or takes one; success is a real `ssh` to it through the alias.

    Interrupted before the node is ours, the request is withdrawn; after that the node stays ours,
    `status` shows it and running this again finishes.
    """
    settings = caller.settings()
    require_alias_beside_login(settings, dry_run=request.dry_run)
    with cluster_of(settings, caller, emit) as cluster:
        if settings.profile.scheduler == "none":
            return session_here(cluster, request)
        return allocate_on(cluster, request)


def allocate_on(cluster: Cluster, request: Hold) -> Allocated:
    """The same on a cluster that is reached already."""
    settings, caller, emit = cluster.settings, cluster.caller, cluster.emit
    needs_alias = not is_login_host(settings, caller.environment)
    if needs_alias:
        require_alias(settings, dry_run=request.dry_run)
    held = hold(cluster, request)
    if not request.dry_run and has_alias(settings):
        with _saying_that_it_stays(held):
            point_at(settings, held, emit, caller.environment)
            verify(settings, held.node, emit, may_ask=caller.may_ask)
    return Allocated(
        job_id=held.job_id,
        node=held.node,
        partition=held.partition,
        end_time=held.end_time,
        alias=settings.profile.alias if needs_alias or has_alias(settings) else None,
        reused=held.reused,
        warm=held.warm,
        newest=held.newest,
        command=held.command,
        instead=held.instead,
        dry_run=request.dry_run,
        nodes=[held.node, *(one.node for one in held.others)] if held.node else [],
    )


@contextmanager
def _saying_that_it_stays(held: NodeHeld) -> Iterator[None]:
    try:
        yield
    except Interrupted as interrupted:
        stays = (
            f"`{held.node}` (job {held.job_id}) stays ours: `scratchflow up` goes on,"
            " `scratchflow clear` gives it back."
        )
        raise EndedBySignal(interrupted.signum, stays) from interrupted


def session_here(cluster: Cluster, request: Hold) -> Allocated:
    """Without a scheduler the allocation is the tmux session; the alias is left alone."""
    from scratchflow.cluster.slurm.request import login_shell_argv
    from scratchflow.cluster.tmux import no_scheduler as none
    from scratchflow.login.host import LoginHost

    settings, environment = cluster.settings, cluster.caller.environment
    login = LoginHost(settings, environment, cluster.emit)
    node = node_name(environment)
    name, session = settings.name, settings.profile.tmux_session
    reused = none.allocation(login.tmux, name, node) is not None
    if not request.dry_run:
        shell = login_shell_argv(login.shell, login.start_directory(None))
        none.allocate(login.tmux, name, session, node, shell)
    return Allocated(
        job_id=None,
        node=node,
        partition="",
        end_time=None,
        alias=None,
        reused=reused,
        warm=None,
        command=f"tmux -L scratchflow new-session -d -s {session}" if request.dry_run else "",
        dry_run=request.dry_run,
    )
