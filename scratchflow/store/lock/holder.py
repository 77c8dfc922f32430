"""Who holds the lock of a place, for people to read; nobody decides anything by it."""

from scratchflow.store.directory import StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.chain import read_head
from scratchflow.store.lock.lock import LockTiming
from scratchflow.store.lock.owner import Owner, is_proven_dead, this_process

_STALE_AFTER_S = LockTiming().stale_after_s


def living_holder(place: StoreDirectory, now_s: float) -> Owner | None:
    """The owner that gave a sign of life lately, by the stamps of the file system; None when there is none."""
    with store_errors(place.lock):
        head = read_head(place.lock)
    if head is None or head.owner is None or now_s - head.heartbeat >= _STALE_AFTER_S:
        return None
    return None if is_proven_dead(head.owner, this_process()) else head.owner
