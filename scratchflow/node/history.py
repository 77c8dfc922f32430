"""`snapshots list|show|diff|verify`: what is in the store, and whether it is whole."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from scratchflow.archive.compare.diff import difference
from scratchflow.archive.malformed import Malformed, NewerFormat
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.borrowed import verify_borrowed
from scratchflow.archive.read.own_digest import footer_of
from scratchflow.archive.read.proven import Proven, is_left
from scratchflow.archive.read.verify import verify_archive
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK
from scratchflow.disk.durable import is_there
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import PathMissing
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.errors.workspace import LimitReached
from scratchflow.model.events import path_fields
from scratchflow.model.requests import NOTHING, Diff, Nothing, Offsets, Show, Verify
from scratchflow.model.results.snapshots import (
    BadSnapshot,
    PathChange,
    PathEntry,
    SnapshotRow,
    SnapshotsDiffed,
    SnapshotShown,
    SnapshotsListed,
    SnapshotsVerified,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.model.times import iso_time
from scratchflow.node.asker import asker
from scratchflow.node.contents.paths import entry_of, matching
from scratchflow.node.context import NodeContext
from scratchflow.node.live_diff import directory_changes
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.holders import (
    LISTS_PATHS,
    SHOWS_PATH,
    path_in_place_of_snapshot,
)
from scratchflow.node.same_store import store_replaced
from scratchflow.store.catalogue import Catalogue, needed_archives, read_catalogue
from scratchflow.store.checks.verified import (
    Verification,
    doubted,
    problems_apart,
    read_verified,
    record_verified,
)
from scratchflow.store.directory import ARCHIVE_SUFFIX, StoreDirectory, find_place
from scratchflow.store.identity import read_store_id
from scratchflow.store.names import find_snapshot
from scratchflow.store.retention.lineage import line_of, lineage_of, read_noted
from scratchflow.store.retention.prune import read_decided
from scratchflow.store.retention.rules import SPECIAL, plan_retention
from scratchflow.store.sizes import bytes_of_snapshots


def list_snapshots(context: NodeContext, notify: Notifier, _: Nothing = NOTHING) -> SnapshotsListed:
    """Every snapshot, oldest first; what cannot be read is a warning. No archive is read."""
    catalogue = warned_catalogue(context, notify)
    place = find_place(context.store, context.workspace.name)
    problems = problems_apart(catalogue, read_verified(place))
    doubts = doubted(place, catalogue.snapshots)
    forks = forks_of(context, catalogue)
    stays = _stays(context, notify, catalogue)
    return SnapshotsListed(
        snapshots=[
            msgspec.structs.replace(
                _row(one, problems.damaged.get(one.id), fork=one.id in forks),
                perhaps_damaged=problems.perhaps.get(one.id),
                stays=stays.get(one.id, []),
                verified=one.verified and one.id not in doubts,
            )
            for one in catalogue.snapshots
        ],
        now=iso_time(context.now().timestamp()),
        store_bytes=bytes_of_snapshots(place),
    )


def forks_of(context: NodeContext, catalogue: Catalogue) -> set[str]:
    """The snapshots with work that went another way than the newest one, from a parent that both have."""
    snapshots = catalogue.snapshots
    # A fork beside the newest one does not make a fork of what went on from the same parent.
    children = Counter(one.parent for one in snapshots if one.parent and not one.beside)
    noted = {}
    with suppress(ScratchflowError):
        noted = read_noted(find_place(context.store, context.workspace.name))
    lineage, newest = lineage_of(snapshots, noted), catalogue.newest_readable
    continued = set(line_of(newest.id, lineage)) if newest else set()
    forks: set[str] = set()
    for one in snapshots:  # the oldest first: what continues a fork is part of it
        goes_apart = children[one.parent or ""] > 1 or lineage.get(one.id) in forks
        if one.beside or (goes_apart and one.id not in continued):
            forks.add(one.id)
    return forks


def _stays(context: NodeContext, notify: Notifier, catalogue: Catalogue) -> dict[str, list[str]]:
    """Why snapshots stay that no plain rule keeps."""
    try:
        place = find_place(context.store, context.workspace.name)
        decided = read_decided(place, catalogue.snapshots, context.now())
    except ScratchflowError as error:
        notify.warn("snapshots.marks_unreadable", b"", f"{error}; nothing is pruned")
        return {}
    plan = plan_retention(catalogue, context.profile.backup, decided)
    return {
        snapshot: [reason for reason in reasons if reason in SPECIAL]
        for snapshot, reasons in plan.kept.items()
    }


def show_snapshot(context: NodeContext, notify: Notifier, asked: Show) -> SnapshotShown:
    """One snapshot; with a path also what lies there."""
    place = find_place(context.store, context.workspace.name)
    catalogue = warned_catalogue(context, notify)
    with path_in_place_of_snapshot(context, asked.snapshot, SHOWS_PATH):
        manifest = find_snapshot(catalogue, asked.snapshot, asker(context, notify, asked.zone))
    entries: list[PathEntry] = []
    if asked.path is not None:
        index = open_index(place.archive(manifest.id))
        entries = _entries_at(context, index, asked.path, manifest)
    problems = problems_apart(catalogue, read_verified(place))
    if manifest.id in doubted(place, catalogue.snapshots):
        manifest = msgspec.structs.replace(manifest, verified=False)
    return SnapshotShown(
        manifest=manifest,
        damaged=problems.damaged.get(manifest.id),
        perhaps_damaged=problems.perhaps.get(manifest.id),
        entries=entries,
    )


def diff_snapshots(context: NodeContext, notify: Notifier, asked: Diff) -> SnapshotsDiffed:
    """Which paths differ between two snapshots."""
    place = find_place(context.store, context.workspace.name)
    catalogue = warned_catalogue(context, notify)
    who = asker(context, notify, asked.zone)
    found = []
    for one in (asked.older, asked.newer):
        with path_in_place_of_snapshot(context, one, LISTS_PATHS):
            found.append(find_snapshot(catalogue, one, who))
    first, second = found
    before, after = (open_index(place.archive(one.id)) for one in found)
    changes = list(difference(before, after))
    counts = Counter(action for action, _ in changes)
    return SnapshotsDiffed(
        older=first.id,
        newer=second.id,
        added=counts["added"],
        removed=counts["removed"],
        changed=counts["changed"],
        paths=[PathChange(action=action, **path_fields(path)) for action, path in changes],
        roots=list(dict.fromkeys([second.workspace, *second.also, *first.also])),
        directories=directory_changes({path: action for action, path in changes}, before, after),
    )


def requested_verification(
    context: NodeContext, notify: Notifier, asked: Verify
) -> SnapshotsVerified:
    """What `snapshots verify` asks for."""
    return verify_snapshots(context, notify, list(asked.snapshots), asked.zone)


def verify_snapshots(
    context: NodeContext, notify: Notifier, wanted: list[str], zone: Offsets = ()
) -> SnapshotsVerified:
    """Reads every archive that the wanted snapshots need back from the store, each once.

    A snapshot is bad when its own archive is not as it was written, or when a restore could not read
    what it needs from others. Damage elsewhere in those archives is no damage of this snapshot. One that a newer
    scratchflow made is not checked, unless something that this one reads is damaged.
    """
    place = find_place(context.store, context.workspace.name)
    catalogue = warned_catalogue(context, notify)
    _warn_of_other_store(context, notify, is_empty=catalogue.newest_id is None)
    who = asker(context, notify, zone)
    chosen = [find_snapshot(catalogue, one, who) for one in wanted] or list(catalogue.snapshots)
    needed = {archive for one in chosen for archive in needed_archives(one)}
    too_new = _newer_archives(place, needed)
    archives = sorted(needed - too_new.keys())
    proven = Proven(place.archive)
    _expect_what_is_left(place, archives, chosen, proven)
    reasons = _verify_archives(place, archives, catalogue, notify, proven)
    skipped = [] if wanted else catalogue.skipped
    bad = [BadSnapshot(id=one.snapshot, reason=one.reason) for one in skipped if not one.is_newer]
    newer = [BadSnapshot(id=one.snapshot, reason=one.reason) for one in skipped if one.is_newer]
    for one in chosen:
        by_size = "" if one.id in catalogue.cut_elsewhere else catalogue.damaged.get(one.id)
        known = by_size or reasons.get(one.id)
        unread = sorted(needed_archives(one) & too_new.keys())
        if unread and not known:
            newer.append(BadSnapshot(id=one.id, reason=too_new[unread[0]]))
            continue
        problems = [known] if known else borrowed_problems(place, one, proven)
        bad += [BadSnapshot(id=one.id, reason=problem) for problem in problems[:1]]
    removed = _removed_meanwhile(place, bad)
    bad = [one for one in bad if one.id not in removed]
    unchecked = removed | {one.id for one in newer}
    checked = [one for one in chosen if one.id not in unchecked]
    # First: what was found sound is so beside the note that the rest of an archive is not.
    _record_archives(place, reasons)
    _record(place, checked, {one.id: one.reason for one in bad}, own=reasons.keys())
    return SnapshotsVerified(checked=len(checked), bad=bad, newer=newer)


def _removed_meanwhile(place: StoreDirectory, bad: Sequence[BadSnapshot]) -> set[str]:
    """Which of these are not in the store any more: `prune` took them while they were read.

    None where nothing is left at all: no prune does that, but a store that is not mounted looks so.
    """
    if not bad:
        return set()
    now = read_catalogue(place)
    listed = {one.id for one in now.snapshots} | {one.snapshot for one in now.skipped}
    return {one.id for one in bad if one.id not in listed} if listed else set()


def _newer_archives(place: StoreDirectory, archives: Iterable[str]) -> dict[str, str]:
    """Which of these archives a newer scratchflow wrote, in words by id; whatever else is wrong with one shows when it is read."""
    found = {}
    for one in archives:
        try:
            footer_of(place.archive(one))
        except NewerFormat as error:
            found[one] = f"`{one}{ARCHIVE_SUFFIX}`: {error}"
        except (Malformed, OSError):
            continue
    return found


def _warn_of_other_store(context: NodeContext, notify: Notifier, *, is_empty: bool) -> None:
    """StoreReplaced for an empty store: that nothing in it is damaged would sound as if all were well.

    A store whose id cannot be read is a warning: its snapshots can be.
    """
    try:
        read_store_id(find_place(context.store, context.workspace.name))
        mirror = context.profile.backup.mirror
        replaced = store_replaced(context.workspace, context.store, context.node, mirror=mirror)
    except StoreUnusable as error:
        notify.warn(error.code, b"", f"{error}, so no backup can be taken; {error.shown_hint}")
        return
    except OSError:  # on a login host scratch may be closed to us: no notes, nothing to compare
        return
    if replaced is not None and is_empty:
        raise replaced
    if replaced is not None:
        notify.warn(replaced.code, b"", str(replaced))


def _record(
    place: StoreDirectory, chosen: list[Manifest], reasons: dict[str, str], own: Collection[str]
) -> None:
    """Notes what was found; `own` are the archives that are damaged themselves."""
    now = iso_time(time.time()) or ""
    record_verified(
        place,
        [
            Verification(
                snapshot=one.id, time=now, problem=reasons.get(one.id, ""), is_own=one.id in own
            )
            for one in chosen
        ],
    )


def _record_archives(place: StoreDirectory, damaged: Mapping[str, str]) -> None:
    """Notes damaged archives also of snapshots that were not asked for. What is known already keeps its time: others were found sound since."""
    now, known = iso_time(time.time()) or "", read_verified(place)
    listed = [one for one in damaged if is_there(place.manifest(one))]
    news = [one for one in listed if one not in known or not known[one].problem]
    record_verified(
        place,
        [Verification(snapshot=one, time=now, problem=damaged[one], is_own=True) for one in news],
    )


def warned_catalogue(context: NodeContext, notify: Notifier) -> Catalogue:
    """All snapshots; what cannot be read is a warning."""
    catalogue = read_catalogue(find_place(context.store, context.workspace.name))
    for one in catalogue.skipped:
        notify.warn("snapshots.unreadable", b"", f"{one.snapshot}: {one.reason}")
    return catalogue


def _row(manifest: Manifest, damaged: str | None, *, fork: bool) -> SnapshotRow:
    return SnapshotRow(
        id=manifest.id,
        time=manifest.time,
        kind=manifest.kind,
        parent=manifest.parent,
        node=manifest.node,
        files=manifest.files,
        bytes=manifest.bytes,
        stored_bytes=manifest.archive_bytes,
        verified=manifest.verified,
        message=manifest.message,
        named=manifest.purpose == "asked" and bool(manifest.message),
        damaged=damaged,
        fork=fork,
        beside=manifest.beside,
    )


def _entries_at(
    context: NodeContext, index: Index, path: str, manifest: Manifest
) -> list[PathEntry]:
    """The path itself, or for a directory what is in it; the empty path is the top.

    A path that is not there from scratch down is one from the workspace down. A glob stands for all it fits.
    """
    if not path.strip("/"):
        return [entry_of(index, entry) for entry in range(index.first[0], index.first[1])]
    entries = matching(index, path, context.workspace)
    if not entries:
        raise PathMissing(snapshot=manifest.id, path=path)
    if len(entries) == 1 and index.mode[entries[0]] & KIND_MASK == DIRECTORY:
        group = index.group_at(entries[0])
        return [entry_of(index, one) for one in range(index.first[group], index.first[group + 1])]
    return [entry_of(index, one) for one in entries]


def _expect_what_is_left(
    place: StoreDirectory, archives: list[str], chosen: Sequence[Manifest], proven: Proven
) -> None:
    """Tells what snapshots read from archives without an index, so that it is compared when those are read."""
    left = {one for one in archives if is_left(one, place.archive)}
    for manifest in chosen:
        if not left.isdisjoint(manifest.needs):
            with suppress(ScratchflowError):  # it will be told as damaged
                proven.expect(open_index(place.archive(manifest.id)), left)


def _verify_archives(
    place: StoreDirectory,
    archives: list[str],
    catalogue: Catalogue,
    notify: Notifier,
    proven: Proven,
) -> dict[str, str]:
    """Why archives are not what was written, by id; the others are proven to hold what they list."""
    manifests = {one.id: one for one in catalogue.snapshots}
    reasons: dict[str, str] = {}
    total = sum(_archive_bytes(place, one) for one in archives)
    done = 0
    for number, archive in enumerate(archives):
        notify.progress("verify", number, len(archives), done, total)
        known = manifests.get(archive)
        problems = verify_archive(
            place.archive(archive),
            digest=known.archive_digest if known else None,
            left=proven.left(archive),
            on_index=partial(proven.note, archive),
        )
        if problems:
            reasons[archive] = problems[0]
        else:
            proven.add(archive)
        done += _archive_bytes(place, archive)
    notify.progress("verify", len(archives), len(archives), total, total)
    return reasons


def borrowed_problems(place: StoreDirectory, manifest: Manifest, proven: Proven) -> list[str]:
    """What is wrong with the bytes that a snapshot reads from other archives."""
    if proven.stands_alone(manifest.id):
        return []
    try:
        index = open_index(place.archive(manifest.id))
    except LimitReached:
        raise
    except ScratchflowError as error:
        return [str(error)]
    return verify_borrowed(index, place.archive, proven)


def _archive_bytes(place: StoreDirectory, archive: str) -> int:
    try:
        return os.stat(place.archive(archive)).st_size
    except OSError:
        return 0
