"""`status`: what is true right now, and what does not fit together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from scratchflow.config.settings import Settings, configured
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of, is_untouched
from scratchflow.dispatch.every_profile import on_every_profile
from scratchflow.flows.alias import alias_problem, show_alias
from scratchflow.flows.mend import mend
from scratchflow.flows.moved import moved_in_words, read_move
from scratchflow.flows.next_step import next_step
from scratchflow.model.ages import time_left
from scratchflow.model.allocation import ENDING, HELD
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.events import Emit, Log, Warned
from scratchflow.model.requests import Nothing, ShowStatus
from scratchflow.model.results.snapshots import SnapshotsListed
from scratchflow.model.results.status import STORE_MOVED, Problem, StatusOfAll, StatusShown
from scratchflow.model.text import counted
from scratchflow.workspace.path_names import is_of_the_account


def status(caller: Caller, emit: Emit, *, fix: bool = False, usage: bool = False) -> StatusShown:
    """Everything at one glance; with `usage`, also what is in use on the nodes. With `fix`, a stale alias is parked and a dead auto-backup started again."""
    settings = caller.settings()
    with cluster_of(settings, caller, emit, once=not fix) as cluster:
        with _telling_what_is_known_without_slurm(cluster):
            shown = seen_on(cluster, usage=usage)
        if fix and mend(cluster, {problem.name for problem in shown.problems}):
            shown = seen_on(cluster, usage=usage)
    warn_of_the_end(shown, emit, set())
    return shown


@contextmanager
def _telling_what_is_known_without_slurm(cluster: Cluster) -> Iterator[None]:
    """The alias and the snapshots do not depend on Slurm, and matter most when it is away."""
    try:
        yield
    except ScratchflowError as error:
        if error.code == SlurmUnreachable.code:
            for message in _known_without_slurm(cluster):
                cluster.emit(Log(level="info", message=message))
        raise


def _known_without_slurm(cluster: Cluster) -> Iterator[str]:
    alias = show_alias(cluster.settings)
    if alias is not None and alias.target:
        yield f"the alias `{alias.name}` leads to `{alias.target}`; whether its job still runs, only Slurm knows"
    with suppress(ScratchflowError):
        listed = cluster.at_workspace("snapshots list", Nothing(), SnapshotsListed).snapshots
        if listed:
            last, count = listed[-1], counted(len(listed), "snapshot")
            yield f"the store can be read: it has {count}, the newest {last.id} of {last.time} from `{last.node}`"
        else:
            yield "the store can be read: it has no snapshot yet"


def seen_on(cluster: Cluster, *, usage: bool = False) -> StatusShown:
    """What is true on the cluster, and where this machine's alias leads."""
    seen = cluster.on_login("look", ShowStatus(usage=usage), StatusShown)
    return with_alias(cluster.settings, seen, cluster.caller)


def status_of_all(caller: Caller, emit: Emit) -> StatusOfAll:
    """The same of every profile at once; one that does not answer is told, and the others are shown."""
    asked = on_every_profile(caller, emit, status, command="status")
    return StatusOfAll(profiles=list(asked.answers.values()), failed=asked.failed)


def with_alias(settings: Settings, seen: StatusShown, caller: Caller) -> StatusShown:
    """What the cluster says, with this machine's alias and tunnels beside it."""
    seen = msgspec.structs.replace(seen, problems=problems_of(settings, seen))
    seen = _with_tunnels(settings, _with_configured(seen, caller))
    if seen.elsewhere:
        from scratchflow.flows.not_known_here import with_cancel

        elsewhere = with_cancel(seen.elsewhere, settings, caller.environment)
        seen = msgspec.structs.replace(seen, elsewhere=elsewhere)
    if settings.profile.scheduler == "none":
        return _with_next_step(seen, has_begun=not is_untouched(settings, caller))
    alias = show_alias(settings)
    held = seen.allocation
    node = held.node if held and held.state in HELD else None
    others = held.nodes[1:] if held and node else []
    problem = alias_problem(settings, alias, node, others)
    problems = [*seen.problems, *([problem] if problem else [])]
    seen = _with_next_step(msgspec.structs.replace(seen, alias=alias, problems=problems))
    return seen if held else _with_move(settings, seen)


def _with_move(settings: Settings, seen: StatusShown) -> StatusShown:
    """After `hop --to` the next step is where the work went, not a node for what was left behind."""
    moved = read_move(settings)
    if moved is None or not seen.next_step:
        return seen
    what, how = moved_in_words(settings.name, moved)
    return msgspec.structs.replace(seen, next_step=f"{what}; {how}")


def problems_of(settings: Settings, seen: StatusShown) -> list[Problem]:
    """Without what is none: a store that is written out, and not named by a variable, is where it is meant to be."""
    is_written_out = is_of_the_account(settings.profile.store)
    return [one for one in seen.problems if one.name != STORE_MOVED or not is_written_out]


def _with_configured(seen: StatusShown, caller: Caller) -> StatusShown:
    """A file that somebody is just editing does not end a watch."""
    try:
        found = configured(caller.asked, caller.environment)
    except ScratchflowError:
        return seen
    return msgspec.structs.replace(seen, profiles=found.profiles, syncs=found.syncs)


def _with_tunnels(settings: Settings, seen: StatusShown) -> StatusShown:
    """Addresses without tokens: a status is read aloud, logged and sent to somebody."""
    from scratchflow.flows.serve.local_tunnels import read_tunnels

    here = read_tunnels(settings.name)
    if not seen.servers and not here:
        return seen
    from scratchflow.flows.serve.serve import other_tunnels, with_addresses

    servers = with_addresses(here, seen.servers, {}, {})
    tunnels = other_tunnels(here, servers)
    return msgspec.structs.replace(seen, servers=servers, tunnels=tunnels)


def _with_next_step(seen: StatusShown, *, has_begun: bool = True) -> StatusShown:
    return msgspec.structs.replace(seen, next_step=next_step(seen, has_begun=has_begun))


def warn_of_the_end(shown: StatusShown, emit: Emit, warned: set[int]) -> None:
    """Tells once for each mark that was passed; the nearest one speaks for those before it."""
    left_s = shown.allocation.seconds_left if shown.allocation else None
    if shown.allocation is None or left_s is None:
        warned.clear()
        return
    passed = [mark for mark in shown.allocation.warn_at_s() if left_s <= mark]
    news = set(passed) - warned
    warned |= set(passed)
    if news:
        # In the words of the picture beneath, so that the two never differ.
        message = f"the allocation ends in {time_left(left_s)}" if left_s > 0 else "the time is up"
        emit(Warned(code=ENDING, message=message))
