"""What a restore restores: a snapshot of the store, or a file that is none."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import msgspec

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.archives import OpenArchive
from scratchflow.archive.scan.scan import Scan
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR
from scratchflow.model.errors.snapshots import SnapshotDamaged, SnapshotMissing
from scratchflow.model.requests import Offsets
from scratchflow.model.snapshot import Manifest, is_snapshot_id
from scratchflow.node.asker import asker
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.holders import RESTORES_PATH, path_in_place_of_snapshot
from scratchflow.node.same_store import refuse_empty_store
from scratchflow.node.snapshot.allowed import incomplete
from scratchflow.store.catalogue import LATEST, Catalogue, missing_archives
from scratchflow.store.checks.verified import (
    known_problems,
    noting_damage,
    read_verified,
    require_whole,
)
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.identity import read_store_id
from scratchflow.store.names import find_snapshot
from scratchflow.store.retention.readers import reading
from scratchflow.workspace.notes import Restoring, read_base_note
from scratchflow.workspace.staging import occupied_roots

# How the message of a snapshot begins that a whole restore takes of what it replaces; the wanted one's id follows.
BEFORE_RESTORING = "before restoring "
# Of what a restore that was cut short had left.
BEFORE_FINISHING = "before finishing the restore of "


class RestoreOptions(msgspec.Struct, frozen=True):
    """What the user wants back, and where."""

    snapshot: str = LATEST
    paths: tuple[str, ...] = ()
    to: Path | None = None
    source: Path | None = None
    replace: bool = False
    force: bool = False
    abandon: bool = False
    dry_run: bool = False
    zone: Offsets = ()
    # Another node has the present work: what is saved here first is a fork, and what is restored no step of history.
    beside: bool = False
    # With `to`: another copy of the workspace's scratch, from which what is equal may be taken.
    warm: Path | None = None


class Source(msgspec.Struct, frozen=True):
    """What to restore: a snapshot of the store, or a file that is none."""

    id: str
    index: Index
    roots: list[str]  # what it holds, by name beneath scratch
    open_archive: OpenArchive
    manifest: Manifest | None = None  # None for a file
    scan: Scan | None = None  # of the workspace, begun before the index was read
    # Archives that it needs and that are not there, and why: what lies in others can be read all the same.
    missing: Mapping[str, str] = {}

    def require_readable(self, entries: Iterable[int]) -> None:
        """SnapshotDamaged when one of these lies in an archive that is not there."""
        if not self.missing:
            return
        for entry in entries:
            content = self.index.hardlinks.get(entry, entry)
            is_file = self.index.mode[content] & KIND_MASK == REGULAR
            for archive, _, _ in self.index.place(content) if is_file else []:
                if archive in self.missing:
                    # Seen anew each time, and perhaps put back: it is not noted as damage.
                    reason = self.missing[archive]
                    raise SnapshotDamaged(snapshot=self.id, reason=reason) from FileNotFoundError()


@contextmanager
def find_source(
    context: NodeContext,
    notify: Notifier,
    options: RestoreOptions,
    place: StoreDirectory,
    catalogue: Catalogue,
    interrupted: Restoring | None,
) -> Iterator[Source]:
    """What the options mean. A scan of the workspace is begun already if only a difference is needed."""
    if options.source is not None:
        # Imported when a file is named: it brings all that writing archives needs.
        from scratchflow.node.transfer.transfer import opened_file

        with opened_file(context, notify, options.source, dry_run=options.dry_run) as (
            archive,
            index,
            roots,
        ):
            yield Source(index.id, index, _present(roots, index), lambda _: archive)
        return
    if catalogue.newest_id is None:
        refuse_empty_store(context)
    manifest = _find_manifest(context, notify, options, place, catalogue, interrupted)
    if not options.paths:  # of a part, it depends on where that lies
        require_whole(place, catalogue, manifest)
    missing = missing_archives(place, catalogue, manifest)
    roots = [manifest.workspace, *manifest.also]
    in_place = options.to is None and not options.paths and not options.dry_run
    ahead: AbstractContextManager[Scan | None] = nullcontext()
    if in_place and is_difference(context, catalogue, interrupted, roots):
        from scratchflow.node.snapshot.plan import begin_scan

        ahead = begin_scan(context, saved_roots(context, roots))
    held: AbstractContextManager[None] = nullcontext()
    noting: AbstractContextManager[None] = nullcontext()
    if not options.dry_run:
        needed = [manifest.id, *manifest.needs]
        held = reading(place, manifest.id, needed, token=context.token(8))
        noting = noting_damage(place, manifest.id)
    with held, ahead as scan, noting:
        index = open_index(place.archive(manifest.id))
        present = _present(roots, index)
        yield Source(manifest.id, index, present, place.archive, manifest, scan, missing)


def _find_manifest(
    context: NodeContext,
    notify: Notifier,
    options: RestoreOptions,
    place: StoreDirectory,
    catalogue: Catalogue,
    interrupted: Restoring | None,
) -> Manifest:
    if catalogue.newest_id is None:
        next_step = (
            "the store is empty: `scratchflow create` makes a workspace and its first snapshot"
        )
        raise SnapshotMissing(wanted=options.snapshot, next_step=next_step)
    if interrupted is None or options.snapshot != LATEST or options.to is not None:
        with path_in_place_of_snapshot(context, options.snapshot, RESTORES_PATH):
            found = find_snapshot(catalogue, options.snapshot, asker(context, notify, options.zone))
        if options.snapshot != LATEST:
            return found
        return _before_safety(place, catalogue, found, notify, is_part=bool(options.paths))
    # By now the newest may be the safety snapshot: what was begun is what is to be finished.
    if any(one.id == interrupted.snapshot for one in catalogue.snapshots):
        return catalogue.by_id(interrupted.snapshot)
    raise incomplete(context, interrupted)


def _before_safety(
    place: StoreDirectory,
    catalogue: Catalogue,
    newest: Manifest,
    notify: Notifier,
    *,
    is_part: bool,
) -> Manifest:
    """Of a part, the newest snapshot that no restore has taken before it replaced something: that one has what is not wanted any more.

    Of everything, the newest has the last state that the workspace had: it is taken, and what it is, is said.
    """
    found = _no_safety(catalogue, newest)
    if found.id == newest.id:
        return found
    if not is_part:
        tell_if_safety(place, catalogue, newest, notify)
        return newest
    notify.remark(
        f"snapshot {found.id} is used: the newest, {newest.id}, was saved before another restore, and has what that"
        f" replaced; `scratchflow restore {newest.id} --path …` brings that back"
    )
    return found


def tell_if_safety(
    place: StoreDirectory, catalogue: Catalogue, newest: Manifest, notify: Notifier
) -> None:
    """Says of the newest snapshot, when it is brought as a whole, that a restore has replaced what is in it."""
    if newest.purpose != "safety":
        return
    damaged = known_problems(catalogue, read_verified(place))
    found = _no_safety(catalogue, newest, damaged)
    other = f"; `scratchflow restore {found.id}` brings the newest that was not"
    notify.remark(
        f"the newest snapshot, {newest.id}, was saved before a restore, and has what that replaced"
        f"{other if found.id != newest.id else ''}"
    )


def replaced_by(newest: Manifest) -> str:
    """The snapshot that was to replace, as a whole, what is in this one; empty when it was taken for another reason."""
    wanted = newest.message.removeprefix(BEFORE_RESTORING)
    return wanted if newest.purpose == "safety" and is_snapshot_id(wanted) else ""


def _no_safety(
    catalogue: Catalogue, newest: Manifest, damaged: Container[str] = frozenset()
) -> Manifest:
    """The newest one that was not taken before a restore, nor is damaged."""
    line = reversed(catalogue.main_line)
    fit = (one for one in line if one.purpose != "safety" and one.id not in damaged)
    return next(fit, newest)


def _present(roots: list[str], index: Index) -> list[str]:
    """Those roots that are in it: a directory saved with the workspace need not exist."""
    return [root for root in roots if index.find(os.fsencode(root)) is not None]


def is_difference(
    context: NodeContext, catalogue: Catalogue, interrupted: Restoring | None, roots: list[str]
) -> bool:
    """Whether what is there is near enough to the snapshot to write only what differs."""
    if interrupted:
        return interrupted.mode == "delta"
    return bool(occupied_roots(context.workspace.scratch, roots)) and _is_known(context, catalogue)


def saved_roots(context: NodeContext, roots: list[str]) -> list[str]:
    """What is saved before these roots are written to: they, and what the profile says."""
    return list(dict.fromkeys([*context.workspace.roots, *roots]))


def _is_known(context: NodeContext, catalogue: Catalogue) -> bool:
    """Whether the workspace came from a snapshot of this store, also from one that was removed since.

    Without that snapshot every file is read and compared; what no snapshot holds is saved first.
    """
    base = read_base_note(context.workspace, context.store)
    if base is None:
        return False
    if any(one.id == base.snapshot for one in catalogue.snapshots):
        return True
    store_id = read_store_id(find_place(context.store, context.workspace.name))
    return store_id is not None and store_id == base.store_id
