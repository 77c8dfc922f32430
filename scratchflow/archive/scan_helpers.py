"""Forked processes that take part in a walk.

Shares are handed out through a pipe that everybody reads from, this process too, so that nobody
waits while there is something left. A helper keeps what it finds until the end: it must not
have to wait for this process either. Where there are no helpers, or they fail, this process does
their share; what they bring is never needed, only welcome.
"""

from __future__ import annotations

import marshal
import os
import signal
import struct
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from scratchflow.archive.walking import Directory, Part, Walk

_SHARE = struct.Struct("<H")
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
_READ_BYTES = 1 << 20


class Helpers:
    """Up to `count` processes, if there is enough for them to do; `close` leaves none behind."""

    def __init__(self, shares: Sequence[Directory], walk: Walk, count: int) -> None:
        self._shares = shares
        self._walk = walk
        self._children: dict[int, int] = {}  # process -> what it will be heard through
        self._pipe, writing = os.pipe()
        try:
            # Far less than a pipe holds, and a pipe hands out so few bytes whole.
            os.write(writing, b"".join(map(_SHARE.pack, range(len(shares)))))
        finally:
            os.close(writing)
        if sys.platform == "linux" and len(shares) > 1:
            try:
                for _ in range(min(count, len(shares) - 1)):
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
        content = os.read(self._pipe, _SHARE.size)
        return _SHARE.unpack(content)[0] if content else None

    def results(self) -> Iterator[tuple[int, Part]]:
        """What the helpers found. One that did not come to its end has found nothing."""
        for process, reading in list(self._children.items()):
            content = _read_all(reading)
            _, status = os.waitpid(process, 0)
            del self._children[process]
            os.close(reading)
            if status == 0:
                for number, columns in marshal.loads(content):  # noqa: S302 - our own process's
                    yield number, Part.loaded(columns)

    def close(self) -> None:
        """Ends helpers that are still at work; harmless when repeated."""
        for process, reading in self._children.items():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(reading)
        self._children.clear()
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def _fork(self) -> None:
        asker = os.getpid()
        reading, writing = os.pipe()
        # Nothing may be raised in the child before it has its own ways to end.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            with warnings.catch_warnings():
                # Python warns of forks beside threads. The child takes no lock that one of them
                # may hold: it lists directories, writes to a pipe and ends.
                warnings.simplefilter("ignore", DeprecationWarning)
                process = os.fork()
            if not process:
                self._help(asker, writing, blocked)
            self._children[process] = reading
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _help(self, asker: int, writing: int, mask: Iterable[int]) -> None:
        """The whole life of a helper: whatever happens, it ends here."""
        code = 1
        try:
            for signum in _ENDING:
                signal.signal(signum, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            _close_all_but(self._pipe, writing)
            view = memoryview(self._work(asker))
            while view:
                view = view[os.write(writing, view) :]
            code = 0
        finally:
            os._exit(code)

    def _work(self, asker: int) -> bytes:
        found = []
        # Somebody else is the parent when the one who asked is gone.
        while (number := self.next_share()) is not None and os.getppid() == asker:
            found.append((number, self._walk.beneath(self._shares[number]).dumped()))
        return marshal.dumps(found)


def _close_all_but(*kept: int) -> None:
    """A lock or a pipe of the one who asked must not live on in a helper."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with suppress(OSError):  # the listing's own
                os.close(int(name))


def _read_all(descriptor: int) -> bytes:
    content = bytearray()
    while piece := os.read(descriptor, _READ_BYTES):
        content += piece
    return bytes(content)
