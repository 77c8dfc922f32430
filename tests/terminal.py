"""The program in a real terminal of a given size, and its screen as an emulator shows it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte

SMALL = (80, 24)
LARGE = (120, 40)
ENTER = "\r"
CTRL_C = "\x03"
CTRL_D = "\x04"
# Progress bars are drawn with these.
_BAR = "━╸╺"
_DEADLINE_S = 120.0


class Terminal:
    """Runs a command with the terminal as its own, so that ssh, too, asks there."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        size: tuple[int, int] = SMALL,
        cwd: Path | None = None,
    ) -> None:
        columns, rows = size
        self._screen = pyte.HistoryScreen(columns, rows, history=1000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        kept = {key: value for key, value in environment.items() if key not in {"COLUMNS", "LINES"}}
        self._process = subprocess.Popen(
            ["setsid", "--ctty", *argv],
            env={**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self._is_over = False

    @property
    def rows(self) -> list[str]:
        """What is on the screen now, from the top to the last row that has anything."""
        return "\n".join(row.rstrip() for row in self._screen.display).rstrip().split("\n")

    @property
    def all_rows(self) -> list[str]:
        """The same with what has scrolled away."""
        gone = [
            "".join(row[column].data for column in range(self._screen.columns)).rstrip()
            for row in self._screen.history.top
        ]
        return [*gone, *self.rows]

    @property
    def text(self) -> str:
        """Every row that was on the screen, one after the other."""
        return "\n".join(self.all_rows)

    @property
    def cursor_row(self) -> str:
        """The row that the cursor is in: where a person looks."""
        return self._screen.display[self._screen.cursor.y].rstrip()

    @property
    def has_bar(self) -> bool:
        """Whether a progress bar is on the screen."""
        return any(mark in row for row in self.rows for mark in _BAR)

    def wait_for_question(self, question: str) -> list[str]:
        """Reads until the cursor stands behind this question, with no bar in sight; the screen then."""
        self._read_until(
            lambda: question in self._asked() and not self.has_bar, f"the question {question!r}"
        )
        return self.rows

    def wait_for(self, text: str) -> list[str]:
        """Reads until the text is on the screen."""
        self._read_until(lambda: text in "\n".join(self.rows), repr(text))
        return self.rows

    def wait_for_more(self) -> None:
        """Reads until something is drawn."""
        select.select([self._ours], [], [], _DEADLINE_S)
        self._stream.feed(self._read())

    def press(self, keys: str) -> None:
        """Keys, as they come from a keyboard."""
        self.press_bytes(keys.encode())

    def press_bytes(self, keys: bytes) -> None:
        """The same with what may not be text."""
        os.write(self._ours, keys)

    def end(self) -> int:
        """Reads until the command is over; its exit code."""
        self._read_until(lambda: self._is_over, "the end of the command")
        return self._process.wait()

    def _asked(self) -> str:
        """The row of the cursor with the one before it: long questions are broken at a space."""
        y = self._screen.cursor.y
        above = self._screen.display[y - 1].rstrip() if y else ""
        return f"{above} {self.cursor_row}"

    def _read_until(self, is_reached: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _DEADLINE_S
        while not is_reached():
            left_s = deadline - time.monotonic()
            assert left_s > 0, f"never came: {what}; on the screen:\n{self.text}"
            assert not self._is_over, f"ended without {what}; on the screen:\n{self.text}"
            if select.select([self._ours], [], [], left_s)[0]:
                self._stream.feed(self._read())

    def _read(self) -> bytes:
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # the other end is closed
            piece = b""
        self._is_over = not piece
        return piece

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._ours)
