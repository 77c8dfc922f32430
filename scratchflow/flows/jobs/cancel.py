"""`cancel`: shows what would be ended, asks, and ends it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from scratchflow.dispatch.cluster import Caller, cluster_of
from scratchflow.model.errors.base import Declined
from scratchflow.model.events import Emit
from scratchflow.model.requests import CancelJobs
from scratchflow.model.results.jobs import JobsCancelled

Agrees = Callable[[JobsCancelled], bool]


def cancel(caller: Caller, emit: Emit, asked: CancelJobs, agrees: Agrees) -> JobsCancelled:
    """Cancels the jobs; Declined, with nothing cancelled, when the answer is no."""
    with cluster_of(caller.settings(), caller, emit) as cluster:
        foreseen = msgspec.structs.replace(asked, dry_run=True)
        found = cluster.on_login("cancel", foreseen, JobsCancelled)
        if asked.dry_run or not found.cancelled:
            return msgspec.structs.replace(found, dry_run=asked.dry_run)
        if not agrees(found):
            numbers = " ".join(found.cancelled)
            raise Declined(
                what="the cancellation", by_hand=f"`scancel {numbers}` on the login host"
            )
        # What was shown, and not what is there by now: a job that was submitted meanwhile was not agreed to.
        shown = CancelJobs(wanted=tuple(found.cancelled))
        return cluster.on_login("cancel", shown, JobsCancelled)
