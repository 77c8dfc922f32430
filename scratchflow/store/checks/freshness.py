"""How late one host sees what another one writes to the store. Two hosts take part: one writes, one watches.

The writer lets a file grow at short intervals. The watcher needs no clock in common with it: where changes
are seen at once, the file grows with every look; a file system that remembers attributes for five seconds
shows a change every five seconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX
from scratchflow.store.directory import FILE_MODE, StoreDirectory

GROWS_EVERY_S = 0.2
LOOKED_FOR_S = 10.0
# Nobody notices less; heartbeats of the lock come every 30 s.
_UNNOTICED_S = 2.0


class Lateness(msgspec.Struct, frozen=True):
    """For how long an old state was shown; `is_more` when the watcher gave up."""

    seconds: float
    is_more: bool = False

    def limits(self, writer: str) -> list[str]:
        """What it means for the user, if anything."""
        if self.seconds < _UNNOTICED_S:
            return []
        late = f"{'more than ' if self.is_more else ''}{self.seconds:.0f} s"
        return [
            (
                f"what `{writer}` writes shows here {late} late: `status` and `snapshots list` may be that much"
                " behind; `backup` and `restore` make the file system look again first"
            )
        ]


@contextmanager
def growing(place: StoreDirectory) -> Iterator[str]:
    """Lets a file in the place grow meanwhile, and gives its name; the empty name where none can be made."""
    name = f"{TEMP_PREFIX}grows-{os.urandom(6).hex()}"
    ended = threading.Event()
    try:
        descriptor = os.open(
            place.directory / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, FILE_MODE
        )
    except OSError:
        yield ""
        return

    def grow() -> None:
        with suppress(OSError):
            while not ended.wait(GROWS_EVERY_S):
                os.write(descriptor, b".")

    thread = threading.Thread(target=grow, name="store-freshness", daemon=True)
    thread.start()
    try:
        yield name
    finally:
        ended.set()
        thread.join()
        os.close(descriptor)
        with suppress(OSError):
            os.unlink(place.directory / name)


def watch(
    file: Path,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Lateness:
    """How long the growing file stays the same for this host: from one change that it sees to the next."""
    changed_at_s: list[float] = []
    size, until_s = _size(file), monotonic() + LOOKED_FOR_S
    while monotonic() < until_s:
        sleep(GROWS_EVERY_S / 4)
        found = _size(file)
        if found == size:
            continue
        size = found
        changed_at_s.append(monotonic())
        if len(changed_at_s) > 1:
            return Lateness(changed_at_s[1] - changed_at_s[0])
    return Lateness(LOOKED_FOR_S, is_more=True)


def _size(file: Path) -> int:
    try:
        return os.stat(file).st_size
    except OSError:
        return -1
