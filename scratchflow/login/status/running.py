"""Which command writes to the store now, wherever it was started: the lock tells."""

from collections.abc import Container

from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.results.status import RunningShown
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.lock.holder import living_holder

_PROGRAM = "scratchflow "


def running_shown(
    place: StoreDirectory, now_s: float, ended_jobs: Container[int] = ()
) -> RunningShown | None:
    """What holds the lock, unless it was of one of these jobs and died with its node. A restore does so only while it saves what was there: it reads the store.

    Of a lock that cannot be read nobody knows; whoever needs it says why, and `status` shows that.
    """
    try:
        owner = living_holder(place, now_s, ended_jobs)
    except StoreUnusable:
        return None
    if owner is None:
        return None
    doing = owner.doing.removeprefix(_PROGRAM)
    return RunningShown(doing=doing, host=owner.host, since=owner.since)
