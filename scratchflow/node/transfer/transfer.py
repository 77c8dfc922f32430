"""`snapshots export|import` and `restore --from`: snapshots in and out of the store as plain files."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from scratchflow.archive.files.holes import hole_allowance
from scratchflow.archive.files.limits import refuse_own_limit
from scratchflow.archive.foreign.importer import (
    Imported,
    import_archive,
    member_names,
    write_complete,
)
from scratchflow.archive.foreign.own_members import OwnMembers
from scratchflow.archive.format.container import FOOTER_WORD
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import open_index, open_regular
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.archive_out import Out
from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory, is_there, publish_new
from scratchflow.disk.trees import remove_tree
from scratchflow.model.errors.snapshots import ArchiveUnreadable, SnapshotDamaged, UnsafeMember
from scratchflow.model.errors.store import TargetFull
from scratchflow.model.errors.transfer import (
    FileFailed,
    FileIncomplete,
    FileTaken,
    FileWithoutWorkspace,
)
from scratchflow.model.requests import Export, Import
from scratchflow.model.results.transfer import SnapshotExported, SnapshotImported
from scratchflow.model.snapshot import Manifest, snapshot_id
from scratchflow.model.text import printable
from scratchflow.node.asker import asker
from scratchflow.node.backup import leave_rescue
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import open_store, refuse_empty_store
from scratchflow.node.snapshot.manifest import plain_manifest
from scratchflow.node.transfer.file_damage import blaming_file
from scratchflow.node.transfer.roots import Landing, landing_of_foreign, landing_of_own
from scratchflow.store.catalogue import fresh_id, read_catalogue
from scratchflow.store.checks.verified import noting_damage, require_whole
from scratchflow.store.commit.commit import NewSnapshot
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.names import Asker, find_snapshot
from scratchflow.store.retention.sweep import sweep
from scratchflow.workspace.staging import begin_incoming


def requested_export(context: NodeContext, notify: Notifier, asked: Export) -> SnapshotExported:
    """What `snapshots export` asks for."""
    file = Path(os.path.expanduser(asked.file))
    who = asker(context, notify, asked.zone)
    return export_snapshot(context, notify, asked.snapshot, file, dry_run=asked.dry_run, who=who)


def export_snapshot(
    context: NodeContext,
    notify: Notifier,
    wanted: str,
    file: Path,
    *,
    dry_run: bool,
    who: Asker | None = None,
) -> SnapshotExported:
    """One plain full `.tar.lz4`. A full snapshot is one already; of others one is written.

    Every byte is checked on the way: SnapshotDamaged when one differs, and no file is left.
    """
    place = find_place(context.store, context.workspace.name)
    catalogue = read_catalogue(place)
    if catalogue.newest_id is None:
        refuse_empty_store(context)
    manifest = find_snapshot(catalogue, wanted, who)
    require_whole(place, catalogue, manifest)
    target = free_path(file)
    size = manifest.archive_bytes if manifest.kind == "full" else manifest.bytes
    if not dry_run:
        with noting_damage(place, manifest.id):
            size = _export(context, place, manifest, target, notify)
    shown = printable(target)
    return SnapshotExported(
        snapshot=manifest.id, path=shown, bytes=size, dry_run=dry_run, host=context.node
    )


def _export(
    context: NodeContext, place: StoreDirectory, manifest: Manifest, target: Path, notify: Notifier
) -> int:
    with new_file(target, context.token(4)) as descriptor:
        # One that needs no other may still lack members: for what it took over and is no file.
        if manifest.kind != "full":
            write_complete(
                OwnMembers(open_index(place.archive(manifest.id)), place.archive),
                descriptor,
                archive_id=manifest.id,
                roots=[manifest.workspace, *manifest.also],
                level=context.profile.backup.level,
                progress=notify.progress,
            )
        else:
            _copy(place.archive(manifest.id), descriptor, manifest)
        return os.fstat(descriptor).st_size


def free_path(file: Path) -> Path:
    try:
        target = file.absolute()
        if not is_there(target):
            return target
    except OSError as error:
        raise FileFailed(path=file, reason=error.strerror) from None
    raise FileTaken(path=target)


def requested_import(context: NodeContext, notify: Notifier, asked: Import) -> SnapshotImported:
    """What `snapshots import` asks for."""
    return import_snapshot(
        context, notify, Path(os.path.expanduser(asked.file)), dry_run=asked.dry_run
    )


def import_snapshot(
    context: NodeContext, notify: Notifier, file: Path, *, dry_run: bool
) -> SnapshotImported:
    """Any `.tar.lz4` as a snapshot of the workspace."""
    coming = _coming(context, _readable(file))
    source = coming.path
    if dry_run:
        with open(os.devnull, "wb") as nowhere:
            tried = _import(context, notify, coming, nowhere.fileno())
        return SnapshotImported(
            snapshot=None,
            source=printable(source),
            files=tried.counts.files,
            bytes=tried.counts.bytes,
            dry_run=True,
            previous=read_catalogue(find_place(context.store, context.workspace.name)).newest_id,
        )
    place = open_store(context, notify)
    with context.lock(place, "scratchflow snapshots import", remark=notify.remark) as lock:
        sweep(lock, time.time())
        catalogue = read_catalogue(place)
        snapshot = fresh_id(catalogue, context.now(), context.token(3))
        with NewSnapshot(lock, snapshot) as new:
            imported = _import(context, notify, coming, new.file, snapshot)
            manifest = plain_manifest(
                context, snapshot, imported.counts, imported.archive_bytes, imported.digest
            )
            message = f"imported from {printable(source.name)}"
            new.commit(
                msgspec.structs.replace(
                    manifest,
                    also=_also(coming.landing, imported.index, context.workspace.name),
                    warnings=notify.warnings,
                    message=message,
                    purpose="imported",
                )
            )
        leave_rescue(place, notify)
    counts = imported.counts
    return SnapshotImported(
        snapshot=snapshot,
        source=printable(source),
        files=counts.files,
        bytes=counts.bytes,
        previous=catalogue.newest_id,
    )


class _Coming(msgspec.Struct, frozen=True):
    """An archive from outside, and where its names go."""

    path: Path
    index: Index | None  # None for one that scratchflow did not write
    landing: Landing


def _coming(context: NodeContext, source: Path) -> _Coming:
    index = _own_index(source)
    if index is None:
        landing = landing_of_foreign(member_names(source), context.workspace)
    else:
        landing = landing_of_own(index, context.workspace)
    return _Coming(source, index, landing)


def _import(
    context: NodeContext,
    notify: Notifier,
    coming: _Coming,
    out: Out | int,
    snapshot: str | None = None,
) -> Imported:
    imported = _written(context, notify, coming, out, snapshot)
    _require_workspace(context, coming.path, imported.index)
    return imported


def _require_workspace(context: NodeContext, file: Path, index: Index) -> None:
    """FileWithoutWorkspace, or a restore would leave everything that is there and call it restored."""
    if index.find(os.fsencode(context.workspace.name)) is None:
        raise FileWithoutWorkspace.found(file, context.workspace.name)


def _written(
    context: NodeContext,
    notify: Notifier,
    coming: _Coming,
    out: Out | int,
    snapshot: str | None,
) -> Imported:
    archive_id = snapshot or snapshot_id(context.now(), context.token(3))
    level = context.profile.backup.level
    if coming.index is not None:
        with blaming_file(coming.path, coming.index.id):
            return write_complete(
                OwnMembers(coming.index, lambda _: coming.path),
                out,
                archive_id=archive_id,
                roots=coming.landing.roots,
                where=coming.landing.path,
                level=level,
                lists_chunks=snapshot is not None,
                progress=notify.progress,
            )
    return import_archive(
        coming.path,
        out,
        archive_id=archive_id,
        where=coming.landing.path,
        level=level,
        lists_chunks=snapshot is not None,
        warn=notify.warn,
        progress=notify.progress,
    )


def _also(landing: Landing, index: Index, workspace: str) -> list[str]:
    """The roots beside the workspace that really came."""
    others = (root for root in landing.roots if root != workspace)
    return [root for root in others if index.find(os.fsencode(root)) is not None]


@contextmanager
def opened_file(
    context: NodeContext, notify: Notifier, file: Path, *, dry_run: bool
) -> Iterator[tuple[Path, Index, list[str]]]:
    """Any `.tar.lz4` as an archive with an index, and its roots.

    A foreign one, or one whose names have to change, is written anew on scratch first.
    """
    coming = _coming(context, _readable(file))
    roots = coming.landing.roots
    if coming.index is not None and coming.landing.changes_nothing:
        _require_workspace(context, coming.path, coming.index)
        with blaming_file(coming.path, coming.index.id):
            yield coming.path, coming.index, roots
        return
    if dry_run:
        with open(os.devnull, "wb") as nowhere:
            yield coming.path, _import(context, notify, coming, nowhere.fileno()).index, roots
        return
    incoming = begin_incoming(context.workspace, context.token(4))
    archive = incoming / "imported.tar.lz4"
    try:
        with new_file(archive, context.token(4)) as descriptor:
            imported = _import(context, notify, coming, descriptor)
        yield archive, imported.index, roots
    finally:
        remove_tree(incoming)


def _own_index(file: Path) -> Index | None:
    """The index of a complete archive that scratchflow wrote; None for a foreign one.

    One of ours with a damaged index is not read as a foreign one: of an incremental archive the tar
    stream is only a part.
    """
    try:
        index = open_index(file)
    except SnapshotDamaged as error:
        if not _ends_as_ours(file):
            return None
        if error.code != SnapshotDamaged.code:
            raise
        raise ArchiveUnreadable.found(file, error.fields["reason"]) from error
    if index.needs:
        raise FileIncomplete(path=file)
    refuse_holes(index, file)
    return index


def refuse_holes(index: Index, file: Path) -> None:
    """Refuses a file of our format whose holes, or chunks that repeat, would take hours to write."""
    files = [entry for entry in index.sparse if entry not in index.hardlinks]
    holes = sum(index.size[entry] - index.stored_size(entry) for entry in files)
    scattered = [entry for entry in index.chunks if index.is_scattered(entry)]
    repeated = sum(map(index.stored_size, scattered))
    if holes + repeated > hole_allowance(file.stat().st_size):
        most = max((*files, *scattered), key=index.size.__getitem__)
        reason = "its files add up to more than an archive of this size may have"
        raise UnsafeMember(archive=file, member=os.fsdecode(index.path(most)), reason=reason)


def _ends_as_ours(file: Path) -> bool:
    with file.open("rb") as source:
        source.seek(0, os.SEEK_END)
        source.seek(max(0, source.tell() - 1024))
        return FOOTER_WORD in source.read()


def _readable(file: Path) -> Path:
    """Its whole path; FileFailed for what has no end to look at first, like a device, or a pipe that nobody writes to."""
    try:
        os.close(open_regular(file))
        return file.absolute()
    except Malformed as error:
        raise FileFailed(path=file, reason=str(error)) from None
    except OSError as error:
        raise FileFailed(path=file, reason=error.strerror) from None


@contextmanager
def new_file(target: Path, token: str) -> Iterator[int]:
    """A descriptor whose bytes appear under the target's name whole, or not at all."""
    temp = target.with_name(f"{TEMP_PREFIX}{token}")
    try:
        descriptor = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise FileFailed(path=target, reason=error.strerror) from error
    try:
        try:
            yield descriptor
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        publish_new(temp, target)
        fsync_directory(target.parent)
    except FileExistsError:
        raise FileTaken(path=target) from None
    except TargetFull as full:  # who writes an archive knows no more than a descriptor
        raise TargetFull(path=target, reason=full.fields["reason"]) from full
    except OSError as error:
        refuse_own_limit(error)
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise TargetFull(path=target, reason=error.strerror) from error
        raise FileFailed(path=target, reason=error.strerror) from error
    finally:
        temp.unlink(missing_ok=True)


def _copy(archive: Path, descriptor: int, manifest: Manifest) -> None:
    """Copies the archive; SnapshotDamaged when the bytes that were copied are not the manifest's."""
    digest = WholeDigest(manifest.archive_digest)
    with archive.open("rb") as source, open(descriptor, "wb", closefd=False) as target:
        while piece := source.read(4 << 20):
            digest.update(piece)
            target.write(piece)
    if digest.text() != manifest.archive_digest:
        reason = "its archive does not match the digest in its manifest"
        raise SnapshotDamaged(snapshot=manifest.id, reason=reason, archive=manifest.id)
