"""What arrived of a snapshot that has no room here: it gives its room back, because the backups of this store need it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.units import format_size
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.store.commit.arriving import give_up, lying_bytes
from scratchflow.store.directory import StoreDirectory


@contextmanager
def given_up_when_full(
    context: NodeContext,
    notify: Notifier,
    place: StoreDirectory,
    archives: Collection[str],
    *,
    doing: str,
) -> Iterator[None]:
    """Removes those of a snapshot's archives that arrived before the one that does not fit, and says so in the error.

    None of them counts yet, and without room the snapshot cannot be finished. They go under the lock: nobody
    adopts them meanwhile. Where the lock cannot be had they stay, and the error says that.
    """
    try:
        yield
    except NoSpace as error:
        if lying := lying_bytes(place, archives):
            try:
                with context.lock_when_full(place, doing, remark=notify.remark) as lock:
                    freed = format_size(give_up(lock, archives))
            except ScratchflowError as kept:
                error.add_step(
                    f"{format_size(lying)} that had arrived of this snapshot stay there for a week, or until it is copied ({kept})"
                )
            else:
                error.add_step(f"{freed} that had arrived of this snapshot were removed again")
        raise
