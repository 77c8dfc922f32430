"""Says which of the profile's directories a backup does not find, and which it no longer saves."""

from __future__ import annotations

import os
from collections.abc import Sequence

from scratchflow.disk.durable import may_be_there
from scratchflow.model.snapshot import Manifest
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier


def warn_of_roots(
    context: NodeContext,
    parent: Manifest | None,
    roots: Sequence[str],
    notify: Notifier,
    brought: Sequence[str] = (),
) -> None:
    """A misspelt `backup.also` must not silently drop a directory from all later snapshots.

    What is `brought` by the restore that follows is not missed.
    """
    for root in context.workspace.also:
        if not _is_within(root, brought) and not may_be_there(context.workspace.scratch / root):
            notify.remark(
                f"`{root}`, named in `backup.also`, is not in `{context.workspace.scratch}`"
            )
    for root in parent.also if parent else []:
        if not _is_within(root, roots) and may_be_there(context.workspace.scratch / root):
            message = (
                "was in the last snapshot and is not saved any more; `backup.also` does not name it"
            )
            notify.warn("backup.root_dropped", os.fsencode(root), message)


def _is_within(root: str, roots: Sequence[str]) -> bool:
    return any(root == one or root.startswith(f"{one}/") for one in roots)
