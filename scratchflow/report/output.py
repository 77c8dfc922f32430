"""Standard output and standard error as we use them: claimed, unbuffered, and gone when gone."""

from __future__ import annotations

import errno
import os

STDOUT = 1
STDERR = 2


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
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


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
