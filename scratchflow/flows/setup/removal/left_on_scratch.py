"""What is left on the scratch of nodes: copies of workspaces, environments beside them, our notes, copies of jobs.

Only nodes know what is there: it is named by what the store says about them, with a command for a job on each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from scratchflow.flows.setup.removal.in_use import (
    COPIES_OF_JOBS,
    beneath,
    only_after,
    saved_and_environments,
    still_used,
    unless_used,
)
from scratchflow.flows.setup.removal.left_in_store import users_of_snapshots
from scratchflow.flows.setup.removal.removal_command import command_there, has_other_name
from scratchflow.flows.setup.removal.scope import Scope
from scratchflow.flows.setup.removal.traces import Traces, WorkspaceTrace
from scratchflow.model.profile import Profile
from scratchflow.model.results.setup import LeftBehind
from scratchflow.workspace.environment import ENV_NAME
from scratchflow.workspace.workspace import STATE_NAME

_OR_LEAVE_THEM = "or leave them to the cluster's own clean-up"
_ONCE_DELETED = (
    "; what no snapshot has, as on a node that failed, is on its disk alone;"
    " once the snapshots are deleted, `up` there refuses until the copy is gone or moved away"
)


def copies_left(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    """Which workspace is on which node's scratch, and what is beside it; also copies of jobs."""
    yield from _Scratch(scope, traces).left()
    yield from _copies_of_jobs(scope, traces)


def on_other_scratches(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    """The same for the profiles of this login host that have a scratch of their own, when all profiles go."""
    by_scratch: dict[str, list[Profile]] = {}
    for other in scope.others.values():
        if other.login == scope.login:
            by_scratch.setdefault(other.scratch.rstrip("/"), []).append(other)
    by_scratch.pop(scope.profile.scratch.rstrip("/"), None)
    for profiles in by_scratch.values():
        stores = {profile.store.rstrip("/") for profile in profiles}
        there = tuple(one for one in traces.workspaces if one.store.rstrip("/") in stores)
        settings = msgspec.structs.replace(scope.settings, profile=profiles[0])
        theirs = msgspec.structs.replace(scope, settings=settings)
        yield from copies_left(theirs, msgspec.structs.replace(traces, workspaces=there))


class _Scratch:
    """The scratch of one profile: what is on it by path, each with its nodes, and whose it is."""

    def __init__(self, scope: Scope, traces: Traces) -> None:
        self._scope = scope
        self._profile = scope.profile
        not_theirs = [
            trace
            for trace in traces.workspaces
            if trace.name == self._profile.workspace or not scope.users_of(trace.path)
        ]
        self._nodes = sorted({node for trace in not_theirs for node in trace.nodes})
        self._workspaces = self._with_nodes(traces.workspaces, not_theirs)
        self._beside = dict.fromkeys(self._beside_workspaces(), self._nodes) if self._nodes else {}
        self._held = {**self._workspaces, **self._beside}
        self._sharing = scope.users_of(self._profile.scratch.rstrip("/"))
        self._used = self._users(traces)
        self._first = only_after([], [job.job_id for job in scope.in_use.held])

    def left(self) -> Iterator[LeftBehind]:
        """What others use, what may be anybody's, and what is this profile's."""
        for path, names in self._used.items():
            what = f"{path} on the scratch of {', '.join(self._held[path])}"
            yield LeftBehind(what=what, how=still_used(names))
        own = beneath(self._profile.scratch, self._profile.workspace)
        nobodys = [
            path
            for path in self._workspaces
            if self._sharing and path not in self._used and path != own
        ]
        yield from map(self._nobodys, nobodys)
        yield from self._made_environment()
        yield from self._ours([path for path in self._held if path not in {*self._used, *nobodys}])

    def _nobodys(self, path: str) -> LeftBehind:
        """A workspace of no profile of the file, on a scratch that another one has, too."""
        return LeftBehind(
            what=f"{path} and our notes of it on the scratch of {', '.join(self._held[path])}",
            how=f"{self._first}{unless_used(self._sharing)}{in_jobs([path, *self._notes([path])])}",
        )

    def _made_environment(self) -> Iterator[LeftBehind]:
        made = beneath(self._profile.scratch, ENV_NAME)
        if self._nodes and made not in self._held and not self._scope.users_of(made):
            yield LeftBehind(
                what=f"{made} on {', '.join(self._nodes)}, if `create --env` made it",
                how=f"{self._first}{unless_used(self._sharing)}`{command_there([made])}` in a job on each",
            )

    def _ours(self, paths: Sequence[str]) -> Iterator[LeftBehind]:
        if not paths:
            return
        named = "".join(f", {path}" for path in paths if path in self._beside)
        notes = self._notes([path for path in paths if path in self._workspaces])
        nodes = sorted({node for path in paths for node in self._held[path]})
        yield LeftBehind(
            what=f"copies of the workspace{named} and our notes on the scratch of {', '.join(nodes)}",
            how=f"{self._first}{in_jobs([*paths, *notes])}{_ONCE_DELETED}",
        )

    def _with_nodes(
        self, traces: Sequence[WorkspaceTrace], not_theirs: Sequence[WorkspaceTrace]
    ) -> dict[str, list[str]]:
        """Workspaces by path, with their nodes. One of another profile that has another scratch is not there."""
        nodes: dict[str, set[str]] = {}
        for trace in traces:
            path = beneath(self._profile.scratch, trace.name)
            if trace.nodes and (trace in not_theirs or self._scope.users_of(path)):
                nodes.setdefault(path, set()).update(trace.nodes)
        return {path: sorted(found) for path, found in nodes.items()}

    def _beside_workspaces(self) -> Iterator[str]:
        """What the profiles that go have on this scratch beside workspaces; no path that a shell there may read otherwise."""
        scope, scratch = self._scope, self._profile.scratch.rstrip("/")
        going = [
            other
            for name, other in scope.others.items()
            if other.login == scope.login and name not in scope.staying
        ]
        for profile in (self._profile, *going):
            for path in saved_and_environments(profile):
                is_within = any(path.startswith(f"{one}/") for one in self._workspaces)
                is_plain = ".." not in path.split("/") and not has_other_name(path)
                if path.startswith(f"{scratch}/") and is_plain and not is_within:
                    yield path

    def _users(self, traces: Traces) -> Mapping[str, list[str]]:
        """What is there and used by profiles that stay, by path; with a workspace, also by whom its snapshots are."""
        of_snapshots = {
            beneath(self._profile.scratch, trace.name): [
                name for name in users_of_snapshots(self._scope, trace) if name in self._sharing
            ]
            for trace in traces.workspaces
            if trace.name != self._profile.workspace
        }
        users = {
            path: self._scope.users_of(path) or of_snapshots.get(path, []) for path in self._held
        }
        return {path: names for path, names in users.items() if names}

    def _notes(self, workspaces: Sequence[str]) -> list[str]:
        """All of them, or those of these workspaces where another profile has some there."""
        notes = beneath(self._profile.scratch, STATE_NAME)
        if not self._scope.users_of(notes):
            return [notes]
        return [f"{notes}/{path.rpartition('/')[2]}" for path in workspaces]


def in_jobs(paths: Sequence[str]) -> str:
    """How to remove what lies on nodes."""
    return f"`{command_there(paths)}` in a job on each, {_OR_LEAVE_THEM}"


def _copies_of_jobs(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    """A job removes its copy when it ends; one whose node fails cannot, and `jobs debug` does not."""
    if not any(trace.jobs for trace in traces.workspaces):
        return
    paths = [beneath(scope.profile.scratch, name) for name in COPIES_OF_JOBS]
    names = dict.fromkeys(name for path in paths for name in scope.users_of(path))
    first = only_after([], [job.job_id for job in scope.in_use.submitted])
    command = f"{first}`{command_there(paths)}` in a job there"
    yield LeftBehind(
        what="copies of jobs on scratch, if any: of `jobs debug`, of jobs whose node failed",
        how=still_used(list(names)) if names else command,
    )
