"""`doctor`: every link of the chain, from the configuration to the workspace, each with its one-line fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of, is_login_host
from scratchflow.flows.alias import alias_problem, show_alias, verify
from scratchflow.flows.mend import mend
from scratchflow.flows.status import problems_of, seen_on
from scratchflow.login.status.mirror import MIRROR_BEHIND
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.store import StoreLost
from scratchflow.model.events import Emit, Progress
from scratchflow.model.requests import Look, Nothing, ShowStatus
from scratchflow.model.results.checks import Check, ChecksDone
from scratchflow.model.results.status import StatusShown
from scratchflow.reach.login import reach_login


def doctor(caller: Caller, emit: Emit, *, fix: bool = False) -> ChecksDone:
    """Looks at one thing after the other; what cannot be reached ends the list, with the reason.

    With `fix`, what is safe to mend is mended first; the checks then say how it is now.
    """
    mended = _mend(caller, emit) if fix else []
    checks: list[Check] = []
    for check in _checks(caller, emit):
        emit(Progress(phase=f"looking at {check.name}"))
        checks.append(check)
    return ChecksDone(checks=checks, mended=mended)


def _mend(caller: Caller, emit: Emit) -> list[str]:
    try:
        with cluster_of(caller.settings(), caller, emit) as cluster:
            return mend(cluster, {problem.name for problem in seen_on(cluster).problems})
    except ScratchflowError:  # what stands in the way is among the checks
        return []


def _checks(caller: Caller, emit: Emit) -> Iterator[Check]:
    settings = caller.settings()
    where = str(settings.path) if settings.exists else "no file yet; the built-in profile"
    yield Check(name="config", ok=True, detail=f"{where}, profile `{settings.name}`")
    with cluster_of(settings, caller, emit) as cluster:
        if not is_login_host(settings, caller.environment):
            reached = _tried("login", lambda: _reach(cluster))
            yield reached
            if not reached.ok:
                return
        yield from _on_login(cluster)
        if settings.profile.scheduler == "slurm":
            yield from _around_the_node(cluster)
        else:
            yield from _problems_here(cluster)


def _tried(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name=name, ok=True, detail=look())
    except ScratchflowError as error:
        return Check(name=name, ok=False, detail=str(error), fix=error.shown_hint)


def _reach(cluster: Cluster) -> str:
    caller, settings = cluster.caller, cluster.settings
    with reach_login(settings, caller.environment, cluster.emit, may_ask=caller.may_ask):
        return f"connected to `{settings.profile.login}`"


def _on_login(cluster: Cluster) -> Iterator[Check]:
    try:
        yield from cluster.on_login("check", Look(), ChecksDone).checks
    except ScratchflowError as error:
        yield Check(name="agent", ok=False, detail=str(error), fix=error.shown_hint)


def _around_the_node(cluster: Cluster) -> Iterator[Check]:
    try:
        seen = cluster.on_login("look", ShowStatus(), StatusShown)
    except ScratchflowError as error:
        yield Check(name="allocation", ok=False, detail=str(error), fix=error.shown_hint)
        return
    held = seen.allocation
    node = held.node if held and held.state == "running" else None
    detail = f"job {held.job_id} on `{node}`" if held and node else "none"
    yield Check(name="allocation", ok=True, detail=detail)
    yield from _seen(cluster, seen)
    yield _alias(cluster, node, held.nodes[1:] if held and node else [])
    if node:
        if show_alias(cluster.settings) is not None:
            yield _tried("ssh", lambda: _verify(cluster, node))
        yield from _on_node(cluster)


def _problems_here(cluster: Cluster) -> Iterator[Check]:
    """What `status` finds wrong on this machine."""
    try:
        seen = cluster.on_login("look", ShowStatus(), StatusShown)
    except ScratchflowError as error:
        yield Check(name="status", ok=False, detail=str(error), fix=error.shown_hint)
        return
    yield from _seen(cluster, seen)


def _seen(cluster: Cluster, seen: StatusShown) -> Iterator[Check]:
    for problem in problems_of(cluster.settings, seen):
        if problem.name in {StoreLost.code, MIRROR_BEHIND}:
            continue  # the login host has just told it
        yield Check(name=problem.name, ok=False, detail=problem.detail, fix=problem.fix)


def _alias(cluster: Cluster, node: str | None, others: list[str]) -> Check:
    shown = show_alias(cluster.settings)
    problem = alias_problem(cluster.settings, shown, node, others)
    if problem:
        return Check(name="alias", ok=False, detail=problem.detail, fix=problem.fix)
    if shown is None:
        return Check(name="alias", ok=True, detail="not used on this machine")
    parked = "is parked: it leads to no node until `scratchflow up`"
    of = f" of profile `{shown.of_profile}`" if shown.of_profile else ""
    target = f"leads to `{shown.target}`{of}" if shown.target else parked
    return Check(name="alias", ok=True, detail=f"`{shown.name}` {target}")


def _verify(cluster: Cluster, node: str) -> str:
    verify(cluster.settings, node, cluster.emit, may_ask=cluster.caller.may_ask)
    return f"`ssh {cluster.settings.profile.alias}` gets to `{node}`"


def _on_node(cluster: Cluster) -> Iterator[Check]:
    try:
        yield from cluster.at_workspace("check node", Nothing(), ChecksDone).checks
    except ScratchflowError as error:
        yield Check(name="node", ok=False, detail=str(error), fix=error.shown_hint)
