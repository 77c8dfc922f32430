"""A scratch that was changed in the profile while a node is held, as the login host can tell: by the node's record in the store."""

from __future__ import annotations

from collections.abc import Iterable

from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation
from scratchflow.model.errors.workspace import WorkspaceAtFormerScratch
from scratchflow.model.text import printable
from scratchflow.store.nodes import NodeRecord


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
    path = printable(workspace.path)
    if record.workspace_path == path or "$" in path or not path.startswith("/"):
        return None
    return WorkspaceAtFormerScratch.of(record.workspace_path, workspace.name, path)
