"""Forked processes that take part in bringing files back.

Threads would do for the decompression; what is done for each file holds the interpreter's lock.
A helper only reports whether it finished a batch. What it could not do, the parent process does, and
meets the same error there.
"""

from __future__ import annotations

import gc
import os
import select
import struct
from collections.abc import Callable, Iterable, Iterator

from scratchflow.archive.workers.fork import end_helper, fork_helper
from scratchflow.archive.workers.queue import Shares

# Lot, whether it is whole, files, bytes: fewer bytes than a pipe would ever take apart.
_DONE = struct.Struct("<H?IQ")
_READ_BYTES = 256 * _DONE.size

Done = tuple[bool, int, int]  # whether all of a batch, how many files of it, how many bytes
Work = Callable[[int], Done]  # does one batch; raises nothing
Check = Callable[[], None]  # ends the process when nobody wants it any more


class RestoreHelpers:
    """Up to `count` processes for so many batches; `close` leaves none behind."""

    def __init__(
        self, batches: int, make_work: Callable[[Check], Work], count: int, kept: Iterable[int]
    ) -> None:
        """`make_work` is called once in each process, where of all descriptors only `kept` are open.

        It is given a check, to be made before every file.
        """
        self._make_work = make_work
        self._processes: list[int] = []
        self._shares = Shares(batches)
        self._reports, self._reporting = os.pipe()
        self._poll = select.poll()
        self._poll.register(self._reports, select.POLLIN)
        self._fork(min(count, batches - 1), (*kept, self._shares.descriptor, self._reporting))
        os.close(self._reporting)

    def __enter__(self) -> RestoreHelpers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def processes(self) -> list[int]:
        """Those that were started."""
        return list(self._processes)

    def next_batch(self) -> int | None:
        """The next batch that nobody has taken yet; None when all are taken."""
        return self._shares.take()

    def reports(self, *, wait: bool) -> Iterator[tuple[int, Done]]:
        """What helpers have said since; with `wait` until all of them have ended."""
        while wait or self._poll.poll(0):
            content = os.read(self._reports, _READ_BYTES)
            if not content:
                return
            for batch, *done in _DONE.iter_unpack(content):
                yield batch, (done[0], done[1], done[2])

    def close(self) -> None:
        """Ends helpers that are still at work. May be called twice."""
        for process in self._processes:
            end_helper(process)
        self._processes.clear()
        self._shares.close()
        if self._reports >= 0:
            os.close(self._reports)
            self._reports = -1

    def _fork(self, count: int, kept: tuple[int, ...]) -> None:
        asker = os.getpid()
        try:
            for _ in range(count):
                self._processes.append(fork_helper(lambda: self._help(asker), kept))
        except OSError:  # no more processes allowed: those there are will do
            return
        except BaseException:
            os.close(self._reporting)
            self.close()
            raise

    def _help(self, asker: int) -> None:
        gc.disable()  # it makes no cycles, and must not touch, and so copy, what it shares

        def check() -> None:
            # Somebody else is the parent when the one who asked is gone.
            if os.getppid() != asker:
                os._exit(1)

        work = self._make_work(check)
        while (batch := self._shares.take()) is not None:
            check()
            os.write(self._reporting, _DONE.pack(batch, *work(batch)))
