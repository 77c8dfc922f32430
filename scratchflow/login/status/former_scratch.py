"""A scratch that was changed in the profile while work is at the former place, as the login host can tell: by the node's record in the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation, ThisMachine
from scratchflow.model.errors.workspace import UnsavedAtFormerScratch, WorkspaceAtFormerScratch
from scratchflow.model.results.status import Problem
from scratchflow.model.text import printable
from scratchflow.node.former_scratch import former_places
from scratchflow.store.nodes import NodeRecord
from scratchflow.workspace.workspace import Workspace


def workspace_at_former_scratch(
    login: LoginHost, held: Allocation | None, records: Iterable[NodeRecord]
) -> WorkspaceAtFormerScratch | None:
    """The error when the job has its workspace elsewhere than the profile says; None also while nobody can say what that means."""
    if held is None or held.job_id is None:
        return None
    record = next((one for one in records if one.node == held.node), None)
    if record is None or not record.is_of(held.job_id, held.name):
        return None
    workspace = login.workspace_of(held)
    if not is_of_other_place(record, workspace):
        return None
    path = printable(workspace.path)
    return WorkspaceAtFormerScratch.of(record.workspace_path, workspace.name, path)


def is_of_other_place(record: NodeRecord, workspace: Workspace) -> bool:
    """Whether the copy of the record lies elsewhere on its node; not where only the node knows the workspace's path."""
    path = printable(workspace.path)
    return record.workspace_path != path and "$" not in path and path.startswith("/")


def left_at_former_scratch(
    login: LoginHost, held: Allocation | None, records: Iterable[NodeRecord]
) -> Iterator[Problem]:
    """Without a cluster: the profile's workspace as it was before its scratch was changed, until there is one at the new place.

    Whether it is saved would take a scan; commands that go on at the new place make it.
    """
    if not isinstance(held, ThisMachine):
        return
    record = next((one for one in records if one.node == held.node), None)
    if record is None:
        return
    workspace = login.workspace_of(held)
    for former in former_places(workspace, login.settings.name, record):
        path = printable(former.path)
        error = UnsavedAtFormerScratch.of(path, workspace.name, printable(workspace.path))
        yield Problem(
            name=WorkspaceAtFormerScratch.code,
            detail=f"`scratch` was changed, and the workspace is still at the former place, `{path}`;"
            " what was done there since the last backup is in no snapshot",
            fix=error.shown_hint,
        )
