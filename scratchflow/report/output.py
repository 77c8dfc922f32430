"""Standard output and standard error as we use them: claimed, unbuffered, and gone when gone."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from io import TextIOBase

STDOUT = 1
STDERR = 2


def terminal_width() -> int | None:
    """Columns of the terminal that reads the result; None where nothing limits a line, as in a file."""
    if not os.isatty(STDOUT):
        return None
    import shutil

    return shutil.get_terminal_size().columns


class _Reader:
    """The descriptor at whose other end our reader is."""

    descriptor = STDOUT


class OutputGone(Exception):
    """Nobody can read what we say: the pipe is closed or the disk is full."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.reader_left = error.errno == errno.EPIPE


def claim_standard_descriptors() -> None:
    """Opens /dev/null on any of 0, 1, 2 that the caller closed.

    Otherwise the next file we open would get that number, and our output would be written into it.
    Python has no stream for a descriptor that was closed; it gets one, so that nobody need ask.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(STDOUT, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(STDERR, "w", closefd=False)


def keep_stdout_to_ourselves() -> None:
    """From here on only `write_stdout` reaches the reader; all else goes to standard error.

    A stray print or a child's word between two lines would break the stream. Nor do children
    inherit the reader: one that lives on, like a tmux server, must not keep ssh waiting for us.
    """
    _Reader.descriptor = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)


def write_stdout(line: bytes) -> None:
    """Writes all of it, past Python's buffers, so that a reader sees each line as it happens."""
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(_Reader.descriptor, rest) :]
    except OSError as error:
        raise OutputGone(error) from None


class Remarks(TextIOBase):
    """Standard error as a stream that never fails: a remark nobody can read is dropped.

    What a command is doing goes on, and its result and exit code stay what they are.
    """

    encoding = "utf-8"

    def write(self, text: str) -> int:
        rest = memoryview(text.encode("utf-8", "backslashreplace"))
        with contextlib.suppress(OSError):
            while rest:
                rest = rest[os.write(STDERR, rest) :]
        return len(text)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return os.isatty(STDERR)

    def fileno(self) -> int:
        return STDERR
