"""How long the holder of a lock has been silent, measured without trusting any host's wall clock.

There are two measures:

- `observed_s`: for how long this process has seen the same heartbeat, by its own monotonic clock.
  It is right whatever the clocks of the hosts do, and takes as long as it measures.
- `stamped_s`: how much older the heartbeat is than a file that this process touches now in the same
  directory. An NFS server stamps both files, so its clock alone counts. FUSE file systems and Lustre
  let each client stamp, so the clocks of two hosts count; and any clock may be set. This measure can
  therefore shorten an observation, but never replaces it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX
from scratchflow.store.directory import FILE_MODE
from scratchflow.store.lock.chain import Head


class Silence(msgspec.Struct, frozen=True):
    """How long nothing was heard of a holder; zero by stamps when its heartbeat lies in the future."""

    observed_s: float
    stamped_s: float


class HolderWatch:
    """What one process has seen of a lock's holders while it waits for them."""

    def __init__(
        self,
        stamped: Path,
        *,
        touch: Callable[[int | Path], None],
        monotonic: Callable[[], float],
    ) -> None:
        """`stamped`: the name of a temporary file, in the directory of the lock."""
        self._stamped = stamped
        self._touch = touch
        self._monotonic = monotonic
        self._seen: tuple[str, float] | None = None
        self._since_s = 0.0
        self._age_s = 0.0

    def silence(self, head: Head) -> Silence:
        """Looks at the holder once more; a heartbeat that changed starts both measures anew."""
        now_s = self._monotonic()
        seen = (head.file.name if head.owner is None else head.owner.token, head.heartbeat)
        if seen != self._seen:
            self._seen, self._since_s = seen, now_s
            self._age_s = self._age_by_stamps(head)
        observed_s = now_s - self._since_s
        return Silence(observed_s=observed_s, stamped_s=max(0.0, self._age_s + observed_s))

    def _age_by_stamps(self, head: Head) -> float:
        """Zero where no file can be made: then the observation alone decides."""
        try:
            descriptor = os.open(self._stamped, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE)
        except OSError:
            return 0.0
        try:
            self._touch(descriptor)
            return max(0.0, os.fstat(descriptor).st_mtime - head.heartbeat)
        except OSError:
            return 0.0
        finally:
            os.close(descriptor)
            with suppress(OSError):
                os.unlink(self._stamped)


def stamped_path(directory: Path, token: str) -> Path:
    """The file that a watch touches; the name makes `sweep` remove it after a kill."""
    return directory / f"{TEMP_PREFIX}stamp-{token}"
