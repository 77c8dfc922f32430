"""Forked processes that take part in work that is cut into numbered shares.

A helper keeps what it finds until the end: it must not have to wait for this process. Where
there are no helpers, or they fail, this process does their share; what they bring is never
needed, only welcome.
"""

from __future__ import annotations

import gc
import marshal
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from scratchflow.archive.workers.fork import end_helper, fork_helper
from scratchflow.archive.workers.queue import Shares

_READ_BYTES = 1 << 20


class Helpers:
    """Up to `count` processes, if there is enough for them to do; `close` leaves none behind.

    `work` does one share, by its number, and returns values that `marshal` takes.
    """

    def __init__(
        self,
        shares: Shares,
        work: Callable[[int], object],
        count: int,
        kept: Iterable[int] = (),
    ) -> None:
        """Of all descriptors only `kept` are open in a helper."""
        self._do = work
        self._kept = tuple(kept)
        self._children: dict[int, int] = {}  # process -> what it will be heard through
        self._numbers = shares
        if sys.platform == "linux":
            try:
                for _ in range(min(count, shares.count - 1)):
                    self._fork()
            except OSError:  # no more processes allowed: those there are will do
                return
            except BaseException:
                self.close()
                raise

    @property
    def processes(self) -> list[int]:
        """Those that were not heard yet."""
        return list(self._children)

    def next_share(self) -> int | None:
        """The next share that nobody has taken yet; None when all are taken."""
        return self._numbers.take()

    def results(self) -> Iterator[tuple[int, Any]]:
        """The shares that helpers did, and what `work` returned for each. One that did not come to its end has found nothing."""
        for process, reading in list(self._children.items()):
            content = _read_all(reading)
            try:
                _, status = os.waitpid(process, 0)
            except ChildProcessError:  # whoever started us may have said that nobody waits
                status = -1
            del self._children[process]
            os.close(reading)
            if status == 0:
                yield from marshal.loads(content)  # noqa: S302 - our own process's

    def all_results(self) -> Iterator[tuple[int, Any]]:
        """Every share and what `work` returned for it: takes part, and does what others could not."""
        missing = set(range(self._numbers.count))
        while (number := self.next_share()) is not None:
            yield number, self._do(number)
            missing.remove(number)
        for number, result in self.results():
            yield number, result
            missing.remove(number)
        for number in sorted(missing):
            yield number, self._do(number)

    def close(self) -> None:
        """Ends helpers that are still at work. May be called twice."""
        for process, reading in self._children.items():
            end_helper(process)
            os.close(reading)
        self._children.clear()
        self._numbers.close()

    def _fork(self) -> None:
        asker = os.getpid()
        reading, writing = os.pipe()
        kept = (*self._kept, self._numbers.descriptor, writing)
        try:
            process = fork_helper(lambda: self._help(asker, writing), kept)
            self._children[process] = reading
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)

    def _help(self, asker: int, writing: int) -> None:
        gc.disable()  # it must not touch, and so copy, what it shares
        view = memoryview(self._work(asker))
        while view:
            view = view[os.write(writing, view) :]

    def _work(self, asker: int) -> bytes:
        found = []
        # Somebody else is the parent when the one who asked is gone.
        while (number := self.next_share()) is not None and os.getppid() == asker:
            found.append((number, self._do(number)))
        return marshal.dumps(found)


def _read_all(descriptor: int) -> bytes:
    content = bytearray()
    while piece := os.read(descriptor, _READ_BYTES):
        content += piece
    return bytes(content)
