"""`snapshots verify`: whether what is in the store is whole."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from scratchflow.archive.malformed import Malformed, NewerFormat
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.borrowed import verify_borrowed
from scratchflow.archive.read.own_digest import footer_of
from scratchflow.archive.read.proven import Proven, is_left
from scratchflow.archive.read.verify import verify_archive
from scratchflow.disk.durable import is_there
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.errors.workspace import LimitReached
from scratchflow.model.requests import Offsets, Verify
from scratchflow.model.results.snapshots import (
    BadSnapshot,
    SnapshotsVerified,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.model.times import iso_time
from scratchflow.node.asker import asker
from scratchflow.node.context import NodeContext
from scratchflow.node.history.history import warned_catalogue
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import store_replaced
from scratchflow.store.catalogue import Catalogue, needed_archives, read_catalogue
from scratchflow.store.checks.verified import (
    Verification,
    read_verified,
    record_verified,
)
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.identity import read_store_id
from scratchflow.store.names import find_snapshot


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
    _warn_of_other_store(context, notify)
    who = asker(context, notify, zone)
    chosen = [find_snapshot(catalogue, one, who) for one in wanted] or list(catalogue.snapshots)
    needed = {archive for one in chosen for archive in needed_archives(one)}
    too_new, shut = _archives_not_to_check(place, needed)
    archives = sorted(needed - too_new.keys() - shut.keys())
    proven = Proven(place.archive)
    _expect_what_is_left(place, archives, chosen, proven)
    reasons = _verify_archives(place, archives, catalogue, notify, proven)
    skipped = [] if wanted else catalogue.skipped
    bad = [BadSnapshot(id=one.snapshot, reason=one.reason) for one in skipped if not one.is_newer]
    newer = [BadSnapshot(id=one.snapshot, reason=one.reason) for one in skipped if one.is_newer]
    closed: list[BadSnapshot] = []
    for one in chosen:
        by_size = "" if one.id in catalogue.cut_elsewhere else catalogue.damaged.get(one.id)
        known = by_size or reasons.get(one.id)
        unread = [
            (into, BadSnapshot(id=one.id, reason=reasons_by_id[archive]))
            for reasons_by_id, into in ((too_new, newer), (shut, closed))
            for archive in sorted(needed_archives(one) & reasons_by_id.keys())
        ]
        if unread and not known:
            into, why = unread[0]
            into.append(why)
            continue
        problems = [known] if known else borrowed_problems(place, one, proven)
        bad += [BadSnapshot(id=one.id, reason=problem) for problem in problems[:1]]
    removed = _removed_meanwhile(place, bad)
    bad = [one for one in bad if one.id not in removed]
    unchecked = removed | {one.id for one in [*newer, *closed]}
    checked = [one for one in chosen if one.id not in unchecked]
    # First: what was found sound is so beside the note that the rest of an archive is not.
    _record_archives(place, reasons)
    _record(place, checked, {one.id: one.reason for one in bad}, own=reasons.keys())
    return SnapshotsVerified(checked=len(checked), bad=bad, newer=newer, closed=closed)


def _archives_not_to_check(
    place: StoreDirectory, archives: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Which of these archives a newer scratchflow wrote, and which may not be opened, in words by id.

    Whatever else is wrong with one shows when it is read.
    """
    newer, closed = {}, {}
    for one in archives:
        file = place.archive(one)
        try:
            footer_of(file)
        except NewerFormat as error:
            newer[one] = f"`{file.name}`: {error}"
        except PermissionError as error:
            remedy = f"`ls -l {shlex.quote(str(file))}` shows who may read it"
            closed[one] = f"`{file.name}` cannot be opened: {error.strerror}; {remedy}"
        except (Malformed, OSError):
            continue
    return newer, closed


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


def _removed_meanwhile(place: StoreDirectory, bad: Sequence[BadSnapshot]) -> set[str]:
    """Which of these are not in the store any more: `prune` took them while they were read.

    None where nothing is left at all: no prune does that, but a store that is not mounted looks so.
    """
    if not bad:
        return set()
    now = read_catalogue(place)
    listed = {one.id for one in now.snapshots} | {one.snapshot for one in now.skipped}
    return {one.id for one in bad if one.id not in listed} if listed else set()


def _warn_of_other_store(context: NodeContext, notify: Notifier) -> None:
    """One that has snapshots. A store whose id cannot be read is a warning, too: its snapshots can be."""
    try:
        read_store_id(find_place(context.store, context.workspace.name))
        mirror = context.profile.backup.mirror
        replaced = store_replaced(context.workspace, context.store, context.node, mirror=mirror)
    except StoreUnusable as error:
        notify.warn(error.code, b"", f"{error}, so no backup can be taken; {error.shown_hint}")
        return
    except OSError:  # on a login host scratch may be closed to us: no notes, nothing to compare
        return
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
