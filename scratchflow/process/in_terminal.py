"""A program with our terminal as its own: `ssh` to a shell or a command that has a terminal there.

All output of such a command is one stream. What a login host's startup files print into it first is left out: the far
end marks its beginning with a line that carries a token, and its end with another (`far_words.py`).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

from scratchflow.process.interrupted import Interrupted

_CHUNK_BYTES = 1 << 16
# Whoever waits longer wants to see why: a step may have to wait, or a startup file may ask something.
PATIENCE_S = 5.0
_GRACE_S = 1.0
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TerminalEnd(msgspec.Struct, frozen=True):
    """How a program ended that had our terminal."""

    code: int
    # Whether the far end said so itself; None when nobody listened: without a token, or when nobody reads our output.
    is_heard: bool | None = None


def call_in_terminal(
    argv: Sequence[str],
    environment: Mapping[str, str],
    token: str = "",
    *,
    patience_s: float = PATIENCE_S,
) -> TerminalEnd:
    """Runs it in our own process group, because the terminal is its own; its exit code is as a shell gives it.

    With a token, nothing is shown before the line that carries it. All of it is shown when the line does not come.
    """
    output = subprocess.PIPE if token else None
    process = is_heard = None
    with terminal_restored():
        try:
            with _signals_afterwards():
                process = subprocess.Popen(argv, env=environment, stdout=output)
            if process.stdout is not None:
                with process.stdout, suppress(OSError):  # nobody reads ours any more
                    is_heard = _relay(process.stdout.fileno(), token, patience_s)
            code = process.wait()
        except Interrupted:
            if process is not None:
                _end(process)
            raise
    return TerminalEnd(code if code >= 0 else 128 - code, is_heard)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its terminal goes with it, and the far shell is hung up."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def _signals_afterwards() -> Iterator[None]:
    """Handles a signal that comes meanwhile at the end: in the middle of `Popen` nobody would know of the child."""
    came: list[int] = []
    handlers = {one: signal.getsignal(one) for one in _ENDING}
    ours = {one: handler for one, handler in handlers.items() if callable(handler)}
    for one in ours:
        signal.signal(one, lambda signum, _: came.append(signum))
    try:
        yield
    finally:
        for one, handler in ours.items():
            signal.signal(one, handler)
        for signum in came:
            signal.raise_signal(signum)


class Beginning:
    """Output up to the line with the token, and after it."""

    def __init__(self, token: str) -> None:
        self._mark = b"\001" + token.encode() + b" "
        self._held = b""
        self._is_shown = False
        self._is_over = False

    @property
    def is_waited_for(self) -> bool:
        """Whether something is left out so far."""
        return not self._is_over and not self._is_shown

    def take(self, piece: bytes) -> bytes:
        """What is to be shown of the output, now that this has come."""
        if self._is_over:
            return piece
        self._held += piece
        noise, mark, after = self._held.partition(self._mark)
        _, end, rest = after.partition(b"\n")
        if mark and end:
            self._is_over, self._held = True, b""
            return (noise if self._is_shown else b"") + rest
        return self._noise() if self._is_shown else b""

    def show_all(self) -> bytes:
        """What was left out: nobody should wait any longer without seeing it."""
        self._is_shown = True
        return self._noise()

    def _noise(self) -> bytes:
        """What is held, but for what may be the beginning of the line."""
        start = self._held.find(self._mark[:1])
        at = len(self._held) if start < 0 else start
        shown, self._held = self._held[:at], self._held[at:]
        return shown

    def end(self) -> bytes:
        """What is left at the end of the output."""
        left, self._held = self._held, b""
        return left


class Ending:
    """Output without the line that tells the end of the command."""

    def __init__(self, token: str) -> None:
        self._mark = b"\001" + token.encode() + b" ended "
        self._held = b""
        self.is_heard = False

    def take(self, piece: bytes) -> bytes:
        """What is to be shown of the output, now that this has come."""
        if self.is_heard:
            return piece
        before, mark, after = (self._held + piece).partition(self._mark)
        _, end, rest = after.partition(b"\n")
        if mark:
            self.is_heard = bool(end)
            self._held = b"" if end else mark + after
            return before + rest
        # The last piece may be the beginning of the line.
        start = before.rfind(self._mark[:1])
        at = start if start >= 0 and self._mark.startswith(before[start:]) else len(before)
        self._held = before[at:]
        return before[:at]

    def end(self) -> bytes:
        """What is left at the end of the output."""
        left, self._held = self._held, b""
        return left


def _relay(reading: int, token: str, patience_s: float) -> bool:
    """Shows what comes until the program has closed its output; whether the far end has told its end."""
    beginning, ending = Beginning(token), Ending(token)
    until = time.monotonic() + patience_s
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    while True:
        left_s = until - time.monotonic()
        if beginning.is_waited_for and left_s <= 0:
            _show(beginning.show_all())
        if not poll.poll(left_s * 1000 if beginning.is_waited_for else None):
            continue
        piece = os.read(reading, _CHUNK_BYTES)
        if not piece:
            _show(ending.take(beginning.end()) + ending.end())
            return ending.is_heard
        _show(ending.take(beginning.take(piece)))


def leave_line() -> None:
    """Goes to a new line: a shell that was lost has left the cursor behind its prompt, or in the middle of a word."""
    if os.isatty(1):
        _show(b"\n")


def _show(data: bytes) -> None:
    while data:
        try:
            data = data[os.write(1, data) :]
        except BlockingIOError:  # whoever shares the terminal has made it so
            select.select([], [1], [])


@contextmanager
def terminal_restored() -> Iterator[None]:
    """However it ends, the terminal is as it was."""
    try:
        before = termios.tcgetattr(0)
    except termios.error:  # stdin is none
        yield
        return
    try:
        yield
    finally:
        ignored = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTTOU, ignored)
