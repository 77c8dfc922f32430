"""`snapshots export|import` and `restore --from`: snapshots in and out of the store as plain files."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec

from scratchflow.archive.extract import extract
from scratchflow.archive.foreign import Imported, first_name, import_archive
from scratchflow.archive.ignore import IgnoreRules
from scratchflow.archive.index import Index
from scratchflow.archive.planning import plan
from scratchflow.archive.reader import open_index
from scratchflow.archive.scan import scan_tree
from scratchflow.archive.writer import write
from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory, is_there, publish_new
from scratchflow.disk.trees import remove_tree
from scratchflow.flows.here import Here
from scratchflow.flows.snapshotting import plain_manifest
from scratchflow.flows.telling import Teller
from scratchflow.model.errors import FileFailed, FileIncomplete, FileTaken, SnapshotDamaged
from scratchflow.model.results import SnapshotExported, SnapshotImported
from scratchflow.model.snapshot import Manifest, snapshot_id
from scratchflow.model.text import printable
from scratchflow.store.catalogue import fresh_id, read_catalogue
from scratchflow.store.commit import NewSnapshot
from scratchflow.store.place import Place, find_place, open_place
from scratchflow.store.sweep import sweep
from scratchflow.workspace.incoming import begin_incoming


def export_snapshot(
    here: Here, teller: Teller, wanted: str, file: Path, *, dry_run: bool
) -> SnapshotExported:
    """One plain full `.tar.lz4`. A full snapshot is one already; of others one is made on scratch."""
    place = find_place(here.store, here.workspace.name)
    catalogue = read_catalogue(place)
    manifest = catalogue.find(wanted)
    catalogue.require_whole(manifest)
    target = _free(file)
    size = manifest.archive_bytes if not manifest.needs else manifest.bytes
    if not dry_run:
        with here.alone(teller.remark) if manifest.needs else nullcontext():
            size = _export(here, place, manifest, target, teller)
    shown = printable(target)
    return SnapshotExported(snapshot=manifest.id, path=shown, bytes=size, dry_run=dry_run)


def _export(here: Here, place: Place, manifest: Manifest, target: Path, teller: Teller) -> int:
    with _new_file(target, here.token(4)) as descriptor:
        if manifest.needs:
            _write_flattened(here, place, manifest, descriptor, teller)
        else:
            _copy(place.archive(manifest.id), descriptor)
        return os.fstat(descriptor).st_size


def _free(file: Path) -> Path:
    try:
        target = file.absolute()
        if not is_there(target):
            return target
    except OSError as error:
        raise FileFailed(path=file, reason=error.strerror) from None
    raise FileTaken(path=target)


def import_snapshot(here: Here, teller: Teller, file: Path, *, dry_run: bool) -> SnapshotImported:
    """Any `.tar.lz4` as a snapshot of the workspace."""
    source = _readable(file)
    _own_index(source)  # refuses an incremental archive
    under = where_to_put(source, here.workspace.name)
    if dry_run:
        with open(os.devnull, "wb") as nowhere:
            tried = _import(here, teller, source, nowhere.fileno(), under)
        return SnapshotImported(
            snapshot=None,
            source=printable(source),
            files=tried.counts.files,
            bytes=tried.counts.bytes,
            dry_run=True,
        )
    place = open_place(here.store, here.workspace.name)
    with here.lock(place, "scratchflow snapshots import", remark=teller.remark) as lock:
        sweep(lock, time.time())
        snapshot = fresh_id(read_catalogue(place), here.now(), here.token(3))
        with NewSnapshot(lock, snapshot) as new:
            imported = import_archive(
                source,
                new.file,
                archive_id=snapshot,
                under=under,
                warn=teller.warn,
                level=here.profile.backup.level,
                progress=teller.progress,
            )
            manifest = plain_manifest(
                here, snapshot, imported.counts, imported.archive_bytes, imported.sha256
            )
            message = f"imported from {printable(source.name)}"
            new.commit(
                msgspec.structs.replace(
                    manifest, warnings=teller.warnings, message=message, purpose="imported"
                )
            )
    counts = imported.counts
    return SnapshotImported(
        snapshot=snapshot, source=printable(source), files=counts.files, bytes=counts.bytes
    )


def _import(here: Here, teller: Teller, source: Path, out: int, under: str) -> Imported:
    return import_archive(
        source,
        out,
        archive_id=snapshot_id(here.now(), here.token(3)),
        under=under,
        warn=teller.warn,
        progress=teller.progress,
    )


@contextmanager
def opened_file(
    here: Here, teller: Teller, file: Path, *, dry_run: bool
) -> Iterator[tuple[Path, Index]]:
    """Any `.tar.lz4` as an archive with an index; a foreign one is written anew on scratch first."""
    source = _readable(file)
    index = _own_index(source)
    if index is not None:
        yield source, index
        return
    under = where_to_put(source, here.workspace.name)
    if dry_run:
        with open(os.devnull, "wb") as nowhere:
            yield source, _import(here, teller, source, nowhere.fileno(), under).index
        return
    incoming = begin_incoming(here.workspace, here.token(4))
    archive = incoming / "imported.tar.lz4"
    try:
        with _new_file(archive, here.token(4)) as descriptor:
            imported = _import(here, teller, source, descriptor, under)
        yield archive, imported.index
    finally:
        remove_tree(incoming)


def _own_index(file: Path) -> Index | None:
    """The index of a complete archive that scratchflow wrote; None for a foreign one."""
    try:
        index = open_index(file)
    except SnapshotDamaged:
        return None
    if index.needs:
        raise FileIncomplete(path=file)
    return index


def where_to_put(file: Path, workspace: str) -> str:
    """What to put before the names of a foreign archive: nothing if they start with the workspace's."""
    name = first_name(file)
    inside = os.fsencode(workspace)
    return "" if name == inside or name.startswith(inside + b"/") else workspace


def _readable(file: Path) -> Path:
    try:
        source = file.absolute()
        with source.open("rb"):
            return source
    except OSError as error:
        raise FileFailed(path=file, reason=error.strerror) from None


@contextmanager
def _new_file(target: Path, token: str) -> Iterator[int]:
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
    except OSError as error:
        raise FileFailed(path=target, reason=error.strerror) from error
    finally:
        temp.unlink(missing_ok=True)


def _copy(archive: Path, descriptor: int) -> None:
    with archive.open("rb") as source, open(descriptor, "wb", closefd=False) as target:
        shutil.copyfileobj(source, target, 4 << 20)


def _write_flattened(
    here: Here, place: Place, manifest: Manifest, descriptor: int, teller: Teller
) -> None:
    """Restores beside the workspace and writes that as one full archive."""
    incoming = begin_incoming(here.workspace, here.token(4))
    try:
        extract(
            open_index(place.archive(manifest.id)),
            place.archive,
            incoming,
            warn=teller.warn,
            progress=teller.progress,
            existing="none",
        )
        roots = [manifest.workspace, *manifest.also]
        scanned = scan_tree(incoming, roots, IgnoreRules(), teller.warn)
        write(
            plan(scanned, None, None, warn=teller.warn),
            descriptor,
            archive_id=manifest.id,
            level=here.profile.backup.level,
            warn=teller.warn,
            progress=teller.progress,
        )
    finally:
        remove_tree(incoming)
