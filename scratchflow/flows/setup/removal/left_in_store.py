"""Snapshots, and what submitted jobs left in the store: how many, whose they are, and how to remove them."""

from __future__ import annotations

from collections.abc import Iterator

from scratchflow.flows.setup.removal.in_use import (
    beneath,
    only_after,
    profiles_named,
    still_used,
    unless_used,
)
from scratchflow.flows.setup.removal.removal_command import far_command, removal_command
from scratchflow.flows.setup.removal.scope import Scope
from scratchflow.flows.setup.removal.traces import Traces, WorkspaceTrace
from scratchflow.model.profile import Profile
from scratchflow.model.results.setup import LeftBehind
from scratchflow.model.text import counted, printable

# Where nobody chose another store.
_MADE_BY_US = Profile().store


def unseen_snapshots(scope: Scope) -> Iterator[LeftBehind]:
    """Those of the profile, when nobody could look how many there are."""
    path = beneath(scope.profile.store, scope.profile.workspace)
    names = scope.users_of(path)
    command = removal_command(scope.login, path)
    first = only_after([], scope.in_use.numbers)
    yield LeftBehind(
        what=f"the snapshots in {path} on `{scope.login}`",
        how=still_used(names) if names else f"{first}`{command}`: gone for good",
    )


def snapshots_left(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    """Those of every workspace that was found."""
    for trace in traces.workspaces:
        names = users_of_snapshots(scope, trace)
        first = _first(scope, trace)
        if trace.name != scope.profile.workspace:
            first += unless_used(scope.users_of(trace.store.rstrip("/")))
        command = removal_command(scope.login, trace.path)
        yield LeftBehind(
            what=f"{number_of(trace)} in {trace.path} on `{scope.login}`{_owner(scope, trace)}",
            how=still_used(names) if names else f"{first}`{command}`: gone for good",
        )
    yield from _closed(scope, traces)
    yield from _own_directory(scope, traces)


def _closed(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    """Where nobody could look: what is there, and which nodes have copies of it, is not known."""
    for place in traces.closed:
        look = far_command(scope.login, "ls -ld", place.path)
        again = f"scratchflow -p {scope.settings.name} setup --remove"
        again += " --all" if scope.all_profiles else ""
        yield LeftBehind(
            what=f"what is in {place.path} on `{scope.login}`, and copies of it on nodes:"
            f" could not look there ({printable(place.reason)})",
            how=f"`{look}` shows whose it is; when it can be read, `{again}` lists what is there",
        )


def _own_directory(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    """The store that we made in the home, which the commands above leave empty, unless there is more in it."""
    has_any = any(trace.store.rstrip("/") == _MADE_BY_US for trace in traces.workspaces)
    if not has_any or scope.users_of(_MADE_BY_US):
        return
    places = [*traces.stores_with_more, *(place.store for place in traces.closed)]
    if any(store.rstrip("/") == _MADE_BY_US for store in places):
        yield LeftBehind(
            what=f"{_MADE_BY_US} on `{scope.login}`, with what else is in it",
            how=f"`{far_command(scope.login, 'ls -la', _MADE_BY_US)}` shows that",
        )
    else:
        yield LeftBehind(
            what=f"{_MADE_BY_US} on `{scope.login}`, which is empty after that",
            how=f"`{far_command(scope.login, 'rmdir', _MADE_BY_US)}`",
            is_small=True,
        )


def number_of(trace: WorkspaceTrace) -> str:
    """What lies there, in numbers; what submitted jobs made is in no snapshot."""
    found = counted(trace.snapshots, "snapshot") if trace.snapshots else "a store without snapshots"
    if trace.jobs:
        found += f" and the records and outputs of {counted(trace.jobs, 'job')}"
    if trace.within:
        inner = ", ".join(f"`{printable(trace.name)}/{printable(one)}`" for one in trace.within)
        found += f", with all that is saved of {inner},"
    return found


def users_of_snapshots(scope: Scope, trace: WorkspaceTrace) -> list[str]:
    """The profiles that stay and have them; in a store that this one does not have, also those of no profile's workspace."""
    names = scope.users_of(trace.path)
    store = trace.store.rstrip("/")
    if names or store == scope.profile.store.rstrip("/"):
        return names
    return scope.users_of(store)


def _first(scope: Scope, trace: WorkspaceTrace) -> str:
    """Which jobs must have ended before its snapshots may go.

    Where a profile of another machine saves is not known here, nor which workspace a submitted job is of.
    """
    place, others = (scope.login, trace.store.rstrip("/"), trace.name), scope.others
    saves = [
        job.job_id
        for job in scope.in_use.held
        if job.profile in others and _place(others[job.profile]) == place
    ]
    may_need = [job.job_id for job in scope.in_use.held if job.profile not in others]
    if trace.jobs:  # the record of a job lies there before Slurm has the job
        may_need += [job.job_id for job in scope.in_use.submitted]
    return only_after(saves, may_need)


def _owner(scope: Scope, trace: WorkspaceTrace) -> str:
    """Whose it is by login host, store and workspace; nothing where there is one profile alone."""
    if not scope.others:
        return ""
    place = (scope.login, trace.store.rstrip("/"), trace.name)
    known = {scope.settings.name: scope.profile, **scope.others}
    names = [name for name, profile in known.items() if _place(profile) == place]
    return f", of {profiles_named(names)}" if names else ""


def _place(profile: Profile) -> tuple[str, str, str]:
    """Where its snapshots are."""
    return profile.login, profile.store.rstrip("/"), profile.workspace
