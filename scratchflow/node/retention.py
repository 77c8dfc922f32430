"""`snapshots prune|keep|unkeep`: which snapshots stay and which are removed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from scratchflow.model.errors.snapshots import LastSnapshot, SnapshotKept, SnapshotOfJob
from scratchflow.model.errors.store import NoRoomToPrune, NoSpace
from scratchflow.model.requests import Mark as MarkRequest
from scratchflow.model.requests import Prune
from scratchflow.model.results.snapshots import SnapshotsMarked, SnapshotsPruned
from scratchflow.model.snapshot import Manifest
from scratchflow.node.asker import asker
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import refuse_empty_store
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.checks.verified import known_damaged, problems_apart, read_verified
from scratchflow.store.checks.writable import refuse_unwritable
from scratchflow.store.commit.reserve import ensure_reserve
from scratchflow.store.directory import StoreDirectory, find_place, open_place
from scratchflow.store.jobs.needed import jobs_from, needed_by_jobs
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.names import Asker, find_snapshot
from scratchflow.store.retention.compact import compact
from scratchflow.store.retention.lineage import lineage_of, newest_full, read_noted
from scratchflow.store.retention.marks import Mark, keep, read_marks, unkeep
from scratchflow.store.retention.prune import plan_prune, plan_remove, prune, remove
from scratchflow.store.retention.rules import Retention, find_spare, is_younger
from scratchflow.store.retention.sweep import sweep

_WHY_MARKED = {
    "asked": "`snapshots keep` marked it",
    "shrink": "the backup after it is much smaller, and nobody agreed to that yet",
}


def prune_snapshots(context: NodeContext, notify: Notifier, request: Prune) -> SnapshotsPruned:
    """Removes the named snapshots, or else what the profile's `keep_*` do not keep and killed runs left."""
    refuse_empty_store(context)
    who = asker(context, notify, request.zone)
    if request.dry_run:
        place = find_place(context.store, context.workspace.name)
        plan = _plan(context, place, request, who)
        refuse_unwritable(place)
        result = _pruned(
            plan,
            _archive_bytes(place, plan),
            is_last_full=_loses_its_full(place, plan),
            dry_run=True,
        )
        return result if request.snapshots else _with_spare(place, plan, result)
    place = open_place(context.store, context.workspace.name)
    with _locked(context, notify, place, "prune") as lock:
        swept = sweep(lock, time.time())
        planned = _plan(context, place, request, who)
        is_last_full = _loses_its_full(place, planned)
        freed_bytes = _archive_bytes(place, planned) + swept.freed_bytes
        if request.snapshots:
            plan = remove(lock, _removable(context, place, request.snapshots, who))
        else:
            plan = prune(lock, context.profile.backup, context.now())
        freed_bytes += compact(lock, progress=partial(notify.progress, "compact")).freed_bytes
        ensure_reserve(place)
    result = _pruned(plan, freed_bytes, is_last_full=is_last_full, dry_run=False)
    return result if request.snapshots else _with_spare(place, plan, result)


def keep_snapshots(context: NodeContext, notify: Notifier, request: MarkRequest) -> SnapshotsMarked:
    """Marks snapshots so that no rule removes them."""
    refuse_empty_store(context)
    who = asker(context, notify, request.zone)
    if request.dry_run:
        place = find_place(context.store, context.workspace.name)
        wanted = _ids(read_catalogue(place), request.snapshots, who)
        return _marked(place, wanted, kept=True, dry_run=True)
    place = open_place(context.store, context.workspace.name)
    # Under the lock: a prune at the same time would not see the mark, and remove the snapshot.
    with _locked(context, notify, place, "keep"):
        wanted = _ids(read_catalogue(place), request.snapshots, who)
        result = _marked(place, wanted, kept=True)
        for one in wanted:
            keep(place, Mark(snapshot=one, why="asked", time=f"{context.now():%Y-%m-%dT%H:%M:%SZ}"))
    return result


def unkeep_snapshots(
    context: NodeContext, notify: Notifier, request: MarkRequest
) -> SnapshotsMarked:
    """Takes marks away, also those that scratchflow set before a backup that shrank."""
    refuse_empty_store(context)
    who = asker(context, notify, request.zone)
    if request.dry_run:
        place = find_place(context.store, context.workspace.name)
        return _marked(place, _marked_ids(place, request.snapshots, who), kept=False, dry_run=True)
    place = open_place(context.store, context.workspace.name)
    with _locked(context, notify, place, "unkeep"):
        wanted = _marked_ids(place, request.snapshots, who)
        result = _marked(place, wanted, kept=False)
        for one in wanted:
            unkeep(place, one)
    return result


def _locked(context: NodeContext, notify: Notifier, place: StoreDirectory, verb: str) -> StoreLock:
    doing = f"scratchflow snapshots {verb}"
    try:
        return context.lock_when_full(place, doing, remark=notify.remark)
    except NoSpace as error:
        reason = error.fields["reason"]
        raise NoRoomToPrune(path=place.directory, reason=reason) from None


def _plan(context: NodeContext, place: StoreDirectory, request: Prune, who: Asker) -> Retention:
    if request.snapshots:
        return plan_remove(place, _removable(context, place, request.snapshots, who))
    return plan_prune(place, context.profile.backup, context.now())


def _removable(
    context: NodeContext, place: StoreDirectory, wanted: Sequence[str], who: Asker
) -> list[str]:
    """The ids that are meant; LastSnapshot when none that can be restored would be left.

    SnapshotKept when one is marked, SnapshotOfJob when a job needs one.
    """
    catalogue = read_catalogue(place)
    unwanted = _ids(catalogue, wanted, who)
    last = _last_to_restore(place, catalogue)
    if set(last) <= set(unwanted):
        raise LastSnapshot(snapshot=last[-1])
    marks = read_marks(place)
    if marked := [one for one in unwanted if one in marks]:
        reason = _WHY_MARKED[marks[marked[0]].why]
        raise SnapshotKept(snapshot=marked[0], reason=reason, marked=" ".join(marked))
    jobs, keep_jobs = needed_by_jobs(place), context.profile.backup.keep_jobs
    for one in unwanted:
        if one in jobs and is_younger(context.now() - jobs[one][1], keep_jobs):
            names = jobs_from(place, one)
            which = f"job{'s' if len(names) > 1 else ''} {', '.join(names)}"
            raise SnapshotOfJob(snapshot=one, which=which, job=" ".join(names))
    return unwanted


def _last_to_restore(place: StoreDirectory, catalogue: Catalogue) -> list[str]:
    """Of which one has to stay: those that are whole as far as is known, else those that may be, else all."""
    every = [one.id for one in catalogue.snapshots]
    problems = problems_apart(catalogue, read_verified(place))
    doubtful = {*problems.perhaps, *known_damaged(place, catalogue.snapshots)}
    not_bad = [one for one in every if one not in problems.damaged]
    return [one for one in not_bad if one not in doubtful] or not_bad or every


def _ids(catalogue: Catalogue, wanted: Sequence[str], who: Asker) -> list[str]:
    return list(dict.fromkeys(find_snapshot(catalogue, one, who).id for one in wanted))


def _marked_ids(place: StoreDirectory, wanted: Sequence[str], who: Asker) -> list[str]:
    """A mark may be there for a snapshot that is not, or that cannot be read."""
    marks, catalogue = read_marks(place), read_catalogue(place)
    found = (one if one in marks else find_snapshot(catalogue, one, who).id for one in wanted)
    return list(dict.fromkeys(found))


def _marked(
    place: StoreDirectory, snapshots: list[str], *, kept: bool, dry_run: bool = False
) -> SnapshotsMarked:
    marks = read_marks(place)
    is_kept = {one: one in marks and marks[one].why == "asked" for one in snapshots}
    changed = [one for one in snapshots if (not is_kept[one] if kept else one in marks)]
    return SnapshotsMarked(snapshots=snapshots, changed=changed, kept=kept, dry_run=dry_run)


def _archive_bytes(place: StoreDirectory, plan: Retention) -> int:
    return sum(_size(place, archive) for archive in plan.unneeded_archives)


def _size(place: StoreDirectory, archive: str) -> int:
    try:
        return os.stat(place.archive(archive)).st_size
    except OSError:
        return 0


def _loses_its_full(place: StoreDirectory, plan: Retention) -> bool:
    """Whether the newest work has a full snapshot in its line now, and none afterwards: the next backup is a full one then."""
    if not plan.removed:
        return False
    catalogue, noted = read_catalogue(place), read_noted(place)
    staying = [one for one in catalogue.snapshots if one.id not in plan.removed]
    return _has_full(catalogue, catalogue.snapshots, noted) and not _has_full(
        catalogue, staying, {**noted, **plan.lineage}
    )


def _has_full(
    catalogue: Catalogue, snapshots: Sequence[Manifest], noted: Mapping[str, str]
) -> bool:
    newest = next((one.id for one in reversed(snapshots) if not one.beside), None)
    whole = (one for one in snapshots if one.id not in catalogue.damaged)
    fulls = {one.id for one in whole if one.kind == "full"}
    line = lineage_of(snapshots, noted)
    return newest is not None and newest_full(newest, line, fulls) is not None


def _pruned(
    plan: Retention, freed_bytes: int, *, is_last_full: bool, dry_run: bool
) -> SnapshotsPruned:
    return SnapshotsPruned(
        kept={snapshot: list(reasons) for snapshot, reasons in plan.kept.items()},
        removed=list(plan.removed),
        freed_bytes=freed_bytes,
        blocked=plan.blocked,
        next_is_full=is_last_full,
        dry_run=dry_run,
    )


def _with_spare(place: StoreDirectory, plan: Retention, result: SnapshotsPruned) -> SnapshotsPruned:
    """Adds which snapshot a person could give up, when the rules keep them all."""
    if plan.removed or plan.blocked:
        return result
    spare = find_spare(read_catalogue(place), plan, lambda archive: _size(place, archive))
    if spare is None:
        return result
    freed_bytes = _archive_bytes(place, plan_remove(place, [spare]))
    return msgspec.structs.replace(result, spare=spare, spare_bytes=freed_bytes)
