"""Runs commands through a child process (`ssh`, `srun`): to their end, or line by line."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable, Mapping, Sequence

from scratchflow.model.errors.ssh import CommandTimedOut
from scratchflow.process.child import (
    GRACE_S,
    ChildTimedOut,
    Completed,
    end_child,
    kill_child,
    run_child,
    start_child,
    wait_for_child,
)
from scratchflow.ssh.transport.base import STDERR_TAIL_BYTES, Feed, Stream, shown_command

FAREWELL_S = 0.3
_PART_BYTES = 1 << 16
_QUIET_S = 0.2


def run_carried(
    host: str,
    command: Sequence[str],
    argv: Sequence[str | bytes],
    *,
    stdin: bytes | None,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
) -> Completed:
    """Runs `argv`, which carries the command to the host; the time-out names command and host."""
    try:
        return run_child(argv, stdin=stdin, timeout_s=timeout_s, environment=environment)
    except ChildTimedOut:
        raise CommandTimedOut(
            command=shown_command(command), host=host, seconds=f"{timeout_s:g}"
        ) from None


class ChildStream(Stream):
    """A child's stdout, line by line; two threads keep its stdin fed and its stderr flowing."""

    def __init__(
        self,
        argv: Sequence[str | bytes],
        *,
        stdin: bytes,
        hold_stdin: bool,
        feed: Feed | None = None,
        environment: Mapping[str, str] | None = None,
        at_end: Callable[[int, bytes], int] = lambda code, _: code,
        at_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._at_end = at_end
        self._at_close = at_close
        self._hold_stdin = hold_stdin
        self._closing = False
        self._process = start_child(argv, environment, has_stdin=True)
        self._threads = [
            threading.Thread(target=self._feed, args=(stdin, feed or iter(())), daemon=True),
            threading.Thread(target=self._drain, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __next__(self) -> bytes:
        if self.returncode is not None or self._process.stdout is None:
            raise StopIteration
        try:
            line = self._process.stdout.readline()
        except ValueError:  # closed by us
            raise StopIteration from None
        if line.endswith(b"\n"):
            return line[:-1]
        code = self._process.wait()
        self._threads[1].join(GRACE_S)
        self.returncode = self._at_end(code, self.stderr_tail)
        if line:
            return line
        raise StopIteration

    def close(self) -> None:
        self._closing = True
        self._threads[0].join(FAREWELL_S)
        # First the pipes, so that a command that watches them can end in its own way. Not the one that is
        # still being written to: that thread ends when the command does.
        is_fed = self._threads[0].is_alive()
        for pipe in (None if is_fed else self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError, ValueError):
                if pipe:
                    pipe.close()
        wait_for_child(self._process, FAREWELL_S)
        kill_child(self._process)
        self._threads[0].join(GRACE_S)
        end_child(self._process)
        for thread in self._threads:
            thread.join(GRACE_S)
        self._at_close()

    def give_up(self) -> None:
        """Ends the command; another thread that waits for its next line meets its end instead."""
        kill_child(self._process)

    def _feed(self, stdin: bytes, feed: Feed) -> None:
        pipe = self._process.stdin
        with contextlib.suppress(OSError, ValueError):
            if pipe:
                pipe.write(stdin)
                pipe.flush()
                for piece in feed:
                    self._write(pipe.fileno(), memoryview(piece))
                    if self._closing:
                        break
        if pipe and not self._hold_stdin:
            with contextlib.suppress(OSError, ValueError):
                pipe.close()

    def _write(self, descriptor: int, piece: memoryview) -> None:
        """In parts, so that `close` need not wait for all of it."""
        while piece and not self._closing:
            piece = piece[os.write(descriptor, piece[:_PART_BYTES]) :]

    def _drain(self) -> None:
        pipe = self._process.stderr
        if pipe is None:
            return
        poll = select.poll()
        poll.register(pipe.fileno(), select.POLLIN)
        with contextlib.suppress(OSError, ValueError):
            # After `close` a shared connection may hold the other end for as long as the far command runs.
            while not self._closing:
                if not poll.poll(_QUIET_S * 1000):
                    continue
                if not (chunk := os.read(pipe.fileno(), 8192)):
                    break
                self.stderr_tail = (self.stderr_tail + chunk)[-STDERR_TAIL_BYTES:]
