"""`freeze`: the workspace as it is now in a snapshot, for a job that runs from it."""

from __future__ import annotations

import os

from scratchflow.model.requests import DryRun
from scratchflow.model.results.jobs import Frozen
from scratchflow.node.backup import backup, foretell_backup
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.process.git import state_of


def freeze(here: NodeContext, notify: Notifier, asked: DryRun) -> Frozen:
    """Takes a snapshot unless there is one already that equals the workspace."""
    taken = (foretell_backup if asked.dry_run else backup)(here, notify, SnapshotOptions())
    return Frozen(
        snapshot=taken.snapshot,
        changed_files=taken.changed_files,
        changed_bytes=taken.changed_bytes,
        duration_s=taken.duration_s,
        git=state_of(here.workspace.path, os.environ),
    )
