"""`jobs prune`: shows which jobs would be forgotten, asks, and removes what was shown."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from scratchflow.dispatch.cluster import Caller, cluster_of
from scratchflow.model.errors.base import Declined
from scratchflow.model.events import Emit
from scratchflow.model.requests import PruneJobs
from scratchflow.model.results.jobs import JobsPruned

Agrees = Callable[[JobsPruned], bool]


def prune(caller: Caller, emit: Emit, asked: PruneJobs, agrees: Agrees) -> JobsPruned:
    """Removes the records; Declined, with nothing removed, when the answer is no."""
    with cluster_of(caller.settings(), caller, emit) as cluster:
        foreseen = msgspec.structs.replace(asked, dry_run=True)
        found = cluster.on_login("jobs prune", foreseen, JobsPruned)
        if asked.dry_run or not found.removed:
            return msgspec.structs.replace(found, dry_run=asked.dry_run)
        if not agrees(found):
            by_hand = "the directories of jobs are in `jobs/` of the store"
            raise Declined(what="the removal", by_hand=by_hand)
        # What was shown, and not what is old by now.
        shown = msgspec.structs.replace(
            asked,
            wanted=tuple(one.job for one in found.removed),
            given_up=tuple(one.job for one in found.removed if one.given_up),
        )
        done = cluster.on_login("jobs prune", shown, JobsPruned)
    return msgspec.structs.replace(done, kept=found.kept)
