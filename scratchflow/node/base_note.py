"""Notes, beside the workspace and in the store, which snapshot the workspace equals now."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import msgspec

from scratchflow.disk.durable import is_there
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.text import printable
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory, find_place, open_place
from scratchflow.store.identity import ensure_store_id
from scratchflow.store.nodes import (
    NodeRecord,
    is_node_name,
    leave_copies,
    read_nodes,
    record_node,
)
from scratchflow.workspace.notes import (
    Restoring,
    begin_restoring,
    cache_path,
    noted_base,
    read_base,
    write_base,
)

if TYPE_CHECKING:
    from scratchflow.archive.scan.cache import ScanCache
    from scratchflow.archive.tree.index import Index


def note_equal(
    context: NodeContext,
    place: StoreDirectory,
    snapshot: str,
    cache: ScanCache | None,
    notify: Notifier,
    *,
    is_own: bool = True,
) -> None:
    """Notes what the workspace equals now. The snapshot is safe by then: trouble here is a warning.

    With `is_own` the copy is from now on the work of this job. Without it somebody only looked at the
    copy, or saved one that fell behind: it stays the work of the job that it was.
    """
    try:
        store_id, profile = ensure_store_id(place), context.settings.name
        write_base(context.workspace, context.store, snapshot, store_id, profile)
        if cache is not None:
            cache.save(cache_path(context.workspace))
    except OSError as error:
        path = os.fsencode(error.filename or context.workspace.state)
        notify.warn(
            "notes.failed", path, f"cannot write: {error.strerror}; the next backup takes longer"
        )
    if not is_node_name(context.node):
        return
    from scratchflow.node.snapshot.result import unsaved_fields

    try:
        before, where = record_of(context, place), printable(context.workspace.path)
        job_id, job_name = _this_job(context) if is_own else _job_of_copy(before)
        left = not is_own and before is not None and before.left
        record = NodeRecord(
            node=context.node,
            snapshot=snapshot,
            workspace_path=where,
            job_id=job_id,
            job_name=job_name,
            time=_now(),
            dirty=False,
            goes_with_job=context.scratch_goes_with_job,
            earlier_paths=before.moved_to(where) if before else [],
            left=left,
            **unsaved_fields(list(dict.fromkeys(notify.unreadable))),
        )
        record_node(place, record)
    except ScratchflowError as error:
        notify.warn("notes.failed", b"", f"the node is not recorded as warm: {error}")


def note_what_was_saved(context: NodeContext, notify: Notifier) -> None:
    """Notes the snapshot that an earlier run committed of this workspace, when it was ended before it could.

    The copy stays the work of the job that it was: a later one may only look at it. A store that is away is for
    the command itself to meet.
    """
    base = noted_base(context.workspace)
    if base is None or not base.saving or base.store != str(context.store):
        return
    with suppress(StoreUnusable):
        place = find_place(context.store, context.workspace.name)
        present = base.present(lambda snapshot: is_there(place.manifest(snapshot)))
        if present != base.snapshot:
            note_equal(context, place, present, None, notify, is_own=False)


def note_taken_up(context: NodeContext, place: StoreDirectory, notify: Notifier) -> None:
    """Notes that this job goes on with the copy that is there: it is the newest work, as if restored."""
    record = record_of(context, place)
    if record is None or (is_of_job(record, context) and not record.left):
        return
    job_id, job_name = _this_job(context)
    ours = msgspec.structs.replace(record, job_id=job_id, job_name=job_name, left=False)
    try:
        record_node(place, ours)
    except ScratchflowError as error:
        notify.warn("notes.failed", b"", f"the workspace is not recorded as this job's: {error}")


def note_restore_begun(context: NodeContext, snapshot: str, mode: Literal["full", "delta"]) -> None:
    """Notes that a restore begins, into a workspace of which nothing else says whose it is until the end."""
    store, profile = str(context.store), context.settings.name
    note = Restoring(snapshot=snapshot, mode=mode, store=store, profile=profile)
    begin_restoring(context.workspace, note)


def note_half_restored(context: NodeContext, snapshot: str) -> None:
    """Tells whoever looks from elsewhere that the copy is half of two states; with no snapshot, that it is not.

    The next `note_equal` ends it. A hint: the node's own notes decide, and a store that is away costs only the hint.
    """
    with suppress(ScratchflowError):
        place = find_place(context.store, context.workspace.name)
        record = record_of(context, place)
        if record is None and snapshot and is_node_name(context.node):
            job_id, job_name = _this_job(context)
            record = NodeRecord(
                node=context.node,
                snapshot=snapshot,
                workspace_path=printable(context.workspace.path),
                job_id=job_id,
                job_name=job_name,
                time=_now(),
            )
        if record is not None and place.directory.is_dir():
            half = msgspec.structs.replace(
                record,
                restoring=snapshot,
                restoring_job=context.job_id if snapshot else None,
                time=_now(),
                dirty=None,
            )
            record_node(place, half)


def is_of_job(record: NodeRecord, context: NodeContext) -> bool:
    """Whether the record is of the job that this process is in. Slurm is asked only if the number fits."""
    is_number_ours = record.job_id == context.job_id
    return is_number_ours and record.is_of(context.job_id, context.job_name())


def is_of_this_job(context: NodeContext, place: StoreDirectory) -> bool:
    """Whether this very job restored the copy on this node, or stored something of it, and was not left for another."""
    record = record_of(context, place)
    return record is not None and is_of_job(record, context) and not record.left


def was_of_this_job(context: NodeContext, place: StoreDirectory) -> bool:
    """The same, also when commands went on to the copy of another job since."""
    record = record_of(context, place)
    return record is not None and is_of_job(record, context)


def was_left(context: NodeContext, place: StoreDirectory) -> bool:
    """Whether commands went on to another job's copy, as in half a `hop`, while this job goes on."""
    record = record_of(context, place)
    return record is not None and record.left and is_of_job(record, context)


def leave(context: NodeContext, place: StoreDirectory) -> None:
    """Notes that commands went on to another job's copy. Without a record it is nobody's work already."""
    leave_copies(place, lambda record: record.node == context.node and is_of_job(record, context))


def older_copy(context: NodeContext) -> tuple[str, str] | None:
    """Its snapshot and the newest one, of a copy that an earlier job left when work went on elsewhere; None of any other."""
    base = read_base(context.workspace, context.store)
    if base is None or context.job_id is None:
        return None
    place = find_place(context.store, context.workspace.name)
    newest = read_catalogue(place).newest_id
    if newest is None or base == newest or is_of_this_job(context, place):
        return None
    return base, newest


def _this_job(context: NodeContext) -> tuple[int | None, str]:
    return context.job_id, context.job_name()


def _job_of_copy(record: NodeRecord | None) -> tuple[int | None, str]:
    """The job that restored the copy on this node, or stored something of it; its number and name."""
    return (record.job_id, record.job_name) if record else (None, "")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def record_of(context: NodeContext, place: StoreDirectory) -> NodeRecord | None:
    """What the store notes of the copy on this node."""
    return next((one for one in read_nodes(place) if one.node == context.node), None)


def note_restored(
    context: NodeContext, notify: Notifier, index: Index, cache: ScanCache | None
) -> None:
    """Notes which snapshot the workspace equals; with a cache the next backup is quick."""
    note_equal(context, open_place(context.store, context.workspace.name), index.id, cache, notify)
