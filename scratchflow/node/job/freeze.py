"""`freeze`: the workspace as it is now in a snapshot, for a job that runs from it."""

from __future__ import annotations

import os

import msgspec

from scratchflow.model.requests import Freeze
from scratchflow.model.results.jobs import Frozen
from scratchflow.node.backup import backup, foretell_backup
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.missing import require_for_job
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.process.git import state_of


def freeze(here: NodeContext, notify: Notifier, asked: Freeze) -> Frozen:
    """Takes a snapshot unless there is one already that equals the workspace; JobLacksEnvironment before it is taken for nothing."""
    if here.workspace.path.is_dir():
        require_for_job(here.profile, here.workspace.scratch, here.node)
    taken = (foretell_backup if asked.dry_run else backup)(here, notify, SnapshotOptions())
    frozen = Frozen(
        snapshot=taken.snapshot,
        changed_files=taken.changed_files,
        changed_bytes=taken.changed_bytes,
        duration_s=taken.duration_s,
        git=state_of(here.workspace.path, os.environ),
    )
    return _foreseen(here, frozen, asked) if frozen.snapshot is None else frozen


def _foreseen(here: NodeContext, frozen: Frozen, asked: Freeze) -> Frozen:
    """With what the dry run of a job needs, and the snapshot will have."""
    from scratchflow.node.job.foreseen import is_directory_there, script_there  # few need it

    return msgspec.structs.replace(
        frozen,
        script=script_there(here, asked.script) if asked.script else None,
        has_directory=bool(asked.directory) and is_directory_there(here, asked.directory),
    )
