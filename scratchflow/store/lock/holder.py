"""Who holds the lock of a place, for people to read; nobody decides anything by it."""

from collections.abc import Container

from scratchflow.store.directory import StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.chain import read_head
from scratchflow.store.lock.lock import LockTiming
from scratchflow.store.lock.owner import Owner, is_proven_dead, this_process

_TIMING = LockTiming()


def living_holder(
    place: StoreDirectory, now_s: float, ended_jobs: Container[int] = ()
) -> Owner | None:
    """The owner that gave a sign of life lately, by the stamps of the file system; None when there is none.

    One of a job that is known to have ended counts as gone as soon as the lock may be taken over from it.
    """
    with store_errors(place.lock):
        head = read_head(place.lock)
    if head is None or head.owner is None:
        return None
    is_job_over = head.owner.job_id in ended_jobs
    limit_s = _TIMING.job_over_after_s if is_job_over else _TIMING.stale_after_s
    if now_s - head.heartbeat >= limit_s or is_proven_dead(head.owner, this_process()):
        return None
    return head.owner
