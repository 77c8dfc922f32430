"""`copy`, on the node: what its copy of the workspace came from, and how much was changed there since."""

from __future__ import annotations

from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.requests import Nothing
from scratchflow.model.results.backup import CopyState
from scratchflow.node.backup import foretell_backup
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.workspace.notes import read_base


def copy_state(context: NodeContext, notify: Notifier, _: Nothing) -> CopyState:
    """Scans the workspace against the snapshot that it came from. Takes no lock and writes nothing."""
    try:
        seen = foretell_backup(context, notify, SnapshotOptions(allow_shrink=True, purpose="auto"))
    except WorkspaceMissing:
        return CopyState(exists=False)
    base = read_base(context.workspace, context.store)
    # A mode or an empty directory is a change too, and counts as no file.
    files = seen.changed_files + seen.removed_files
    return CopyState(
        base=base,
        changed=0 if seen.kind == "unchanged" else max(1, files),
        unsaved=seen.unsaved,
        unsaved_paths=seen.unsaved_paths,
    )
