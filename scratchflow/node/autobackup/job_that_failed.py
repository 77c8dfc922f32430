"""What is said when a node is had again on which a job ended without a last backup: whether its work is still there."""

from __future__ import annotations

from scratchflow.node.base_note import record_of
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import Heartbeat, read_heartbeat
from scratchflow.workspace.notes import noted_base, read_restoring
from scratchflow.workspace.workspace import Workspace


def tell_of_failed_job(
    context: NodeContext, place: StoreDirectory, notify: Notifier, *, is_left_as_it_was: bool
) -> None:
    """Before the workspace is restored, if it `is_left_as_it_was`, in place of that."""
    failed = _failed(context, place)
    if failed is None:
        return
    record = record_of(context, place)
    is_of_job = record is not None and record.is_of(failed.job_id, failed.job_name)
    last = record.snapshot if record and is_of_job else failed.last_snapshot
    since = f"snapshot {last}" if last else "the last snapshot"
    job = f"job {failed.job_id} ended on {context.node} without a last backup"
    path = context.workspace.path
    if is_left_as_it_was:
        notify.remark(
            f"{job}: what was changed in `{path}` after {since} is in it, and in no snapshot yet"
        )
    elif _nothing_is_left(context.workspace):
        message = f"{job}, and nothing of `{path}` is there any more: what was changed in it after {since} is in no snapshot"
        notify.warn("workspace.gone", b"", message)


def _nothing_is_left(workspace: Workspace) -> bool:
    """Neither the workspace nor our notes: one that was renamed, or half of a restore, is not gone."""
    has_notes = noted_base(workspace) is not None or read_restoring(workspace) is not None
    return not has_notes and not workspace.path.is_dir()


def _failed(context: NodeContext, place: StoreDirectory) -> Heartbeat | None:
    """The last word of the auto-backup that was here, if it never said that it ended and nobody saved the copy since."""
    last = read_heartbeat(place, context.node)
    if last is None or last.job_id is None or context.job_id is None:
        return None
    is_silent = last.phase != "ended" and last.workspace_exists is not False
    if not is_silent or last.is_of(context.job_id, context.job_name()):
        return None
    record = record_of(context, place)
    if record and record.is_of(last.job_id, last.job_name) and record.time > last.time:
        return None
    return last if context.is_job_over(last.job_id) else None
