"""`snapshots export|import` and `restore --from`: snapshots in and out of the store as plain files."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from scratchflow.archive.extract import extract
from scratchflow.archive.foreign import first_name, import_archive
from scratchflow.archive.ignore import IgnoreRules
from scratchflow.archive.index import Index
from scratchflow.archive.planning import plan
from scratchflow.archive.reader import open_index
from scratchflow.archive.scan import scan_tree
from scratchflow.archive.writer import write
from scratchflow.disk.durable import TEMP_PREFIX, is_there, publish_new
from scratchflow.disk.trees import remove_tree
from scratchflow.flows.here import Here
from scratchflow.flows.snapshotting import plain_manifest
from scratchflow.flows.telling import Teller
from scratchflow.model.errors import FileFailed, FileTaken, SnapshotDamaged
from scratchflow.model.results import SnapshotExported, SnapshotImported
from scratchflow.model.snapshot import Manifest, snapshot_id
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
    target = file.absolute()
    if is_there(target):
        raise FileTaken(path=target)
    if dry_run:
        size = manifest.archive_bytes if not manifest.needs else manifest.bytes
        return SnapshotExported(snapshot=manifest.id, path=str(target), bytes=size, dry_run=True)
    with _new_file(target) as descriptor:
        if manifest.needs:
            _write_flattened(here, place, manifest, descriptor, teller)
        else:
            _copy(place.archive(manifest.id), descriptor)
    return SnapshotExported(snapshot=manifest.id, path=str(target), bytes=target.stat().st_size)


def import_snapshot(here: Here, teller: Teller, file: Path, *, dry_run: bool) -> SnapshotImported:
    """Any `.tar.lz4` as a snapshot of the workspace."""
    source = _readable(file)
    under = where_to_put(source, here.workspace.name)
    if dry_run:
        return SnapshotImported(snapshot=None, source=str(source), files=0, bytes=0, dry_run=True)
    place = open_place(here.store, here.workspace.name)
    with here.lock(place, "scratchflow snapshots import") as lock:
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
            message = f"imported from {source.name}"
            new.commit(msgspec.structs.replace(manifest, warnings=teller.warnings, message=message))
    counts = imported.counts
    return SnapshotImported(
        snapshot=snapshot, source=str(source), files=counts.files, bytes=counts.bytes
    )


@contextmanager
def opened_file(here: Here, teller: Teller, file: Path) -> Iterator[tuple[Path, Index]]:
    """Any `.tar.lz4` as an archive with an index; a foreign one is written anew on scratch first."""
    source = _readable(file)
    index = _own_index(source)
    if index is not None:
        yield source, index
        return
    incoming = begin_incoming(here.workspace, "imported")
    archive = incoming / "imported.tar.lz4"
    try:
        with _new_file(archive) as descriptor:
            imported = import_archive(
                source,
                descriptor,
                archive_id=snapshot_id(here.now(), here.token(3)),
                under=where_to_put(source, here.workspace.name),
                warn=teller.warn,
                progress=teller.progress,
            )
        yield archive, imported.index
    finally:
        remove_tree(incoming)


def _own_index(file: Path) -> Index | None:
    """The index of an archive that scratchflow wrote and that needs no other; None for all else."""
    try:
        index = open_index(file)
    except SnapshotDamaged:
        return None
    return None if index.needs else index


def where_to_put(file: Path, workspace: str) -> str:
    """What to put before the names of a foreign archive: nothing if they start with the workspace's."""
    name = first_name(file)
    inside = os.fsencode(workspace)
    return "" if name == inside or name.startswith(inside + b"/") else workspace


def _readable(file: Path) -> Path:
    source = file.absolute()
    try:
        with source.open("rb"):
            return source
    except OSError as error:
        raise FileFailed(path=source, reason=error.strerror) from None


@contextmanager
def _new_file(target: Path) -> Iterator[int]:
    """A descriptor whose bytes appear under the target's name whole, or not at all."""
    temp = target.with_name(f"{TEMP_PREFIX}{target.name}")
    try:
        descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            yield descriptor
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        publish_new(temp, target)
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
    incoming = begin_incoming(here.workspace)
    try:
        extract(
            open_index(place.archive(manifest.id)),
            place.archive,
            incoming,
            warn=teller.warn,
            progress=teller.progress,
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
