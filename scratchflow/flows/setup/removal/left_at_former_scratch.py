"""Copies of a workspace that nodes have elsewhere than any profile says now: where `scratch` was before it was changed."""

from __future__ import annotations

from collections.abc import Iterator

from scratchflow.flows.setup.removal.in_use import beneath, may_hold, only_after, still_used
from scratchflow.flows.setup.removal.left_on_scratch import in_jobs
from scratchflow.flows.setup.removal.removal_command import has_other_name
from scratchflow.flows.setup.removal.scope import Scope
from scratchflow.flows.setup.removal.traces import Traces, WorkspaceTrace
from scratchflow.model.results.setup import LeftBehind
from scratchflow.workspace.workspace import STATE_NAME


def copies_at_former_scratch(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    """Each with our notes of it, and its nodes."""
    first = only_after([], [job.job_id for job in scope.in_use.held])
    for trace in traces.workspaces:
        nodes: dict[str, list[str]] = {}
        for node, path in trace.copies:
            if _is_former(scope, trace, path):
                nodes.setdefault(path, []).append(node)
        for path, names in nodes.items():
            notes = f"{path.removesuffix(f'/{trace.name}')}/{STATE_NAME}/{trace.name}"
            users = scope.users_of(path)
            yield LeftBehind(
                what=f"{path}, a copy of the workspace at a former `scratch`, and our notes of it on {', '.join(names)}",
                how=still_used(users) if users else f"{first}{in_jobs([path, notes])}",
            )


def _is_former(scope: Scope, trace: WorkspaceTrace, path: str) -> bool:
    """Whether no profile has the workspace at this path, whatever names in its `scratch` mean there."""
    if not path.endswith(f"/{trace.name}") or has_other_name(path):
        return False
    profiles = [scope.profile, *(one for one in scope.others.values() if one.login == scope.login)]
    return not any(may_hold(beneath(one.scratch, trace.name), path) for one in profiles)
