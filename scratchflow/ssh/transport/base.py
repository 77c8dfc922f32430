"""Runs a command on a host: the interface that all transports implement.

There is one class for every way: this machine, the login host by paramiko or by the system's ssh, the
node as a step of its job or by ssh. All of them pass the tests in `tests/contract/ssh/transport/test_base.py`.
"""

from __future__ import annotations

import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TypeVar

from scratchflow.process.child import Completed

CONNECT_TIMEOUT_S = 10
ALIVE_INTERVAL_S = 15
ALIVE_COUNT = 3
STDERR_TAIL_BYTES = 64 * 1024
ENDED_BY_SIGNAL = -1
# In a terminal this logs in, asking what has to be asked, and leaves a shared connection behind.
LOGIN_COMMAND = "scratchflow status"
CHECK_NAME = "check the spelling, your network and VPN; `ssh` to that host has to work as well"

# More input for a command, taken from it as the command reads. An empty piece means: nothing yet. It is used by
# one thread, not always the one that made it, and must not raise.
Feed = Iterator[bytes]


class Stream(ABC):
    """The lines of a running command's stdout, without their ends, as they come.

    After the last line `returncode` and `stderr_tail` are set. A connection that breaks raises
    `ConnectionLost` from the iteration, at most 45 s later; a half line is then dropped.

    Closing early closes the command's stdin and stdout. The far command meets the end of its
    input, or a broken pipe with its next line; ssh sends no signal, so one that looks at neither
    goes on until its work is done.
    """

    returncode: int | None = None
    stderr_tail: bytes = b""

    def __iter__(self) -> Iterator[bytes]:
        return self

    @abstractmethod
    def __next__(self) -> bytes: ...

    @abstractmethod
    def close(self) -> None:
        """Closes everything. May be called twice."""

    def give_up(self) -> None:
        """From another thread: ends the command here; whoever waits for its next line meets its end instead."""
        self.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Transport(ABC):
    """A way to run commands on one host. Used by one thread at a time, except `run_beside`."""

    host: str
    """Its name, for messages."""

    def connect(self) -> None:  # noqa: B027 - most have nothing to log in to
        """Logs in now rather than with the first command, which does so by itself."""

    @abstractmethod
    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        """Runs a command to its end; `CommandTimedOut` when it takes longer.

        Logging in, where it comes first, has limits of its own (10 s to connect to each hop).
        A command given up on is cut off as a closed `Stream` is: it may go on for a while.
        """

    @abstractmethod
    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> Stream:
        """Starts a command and gives its stdout line by line.

        With `hold_stdin` the input stays open after `stdin` and `feed` until the stream is closed: a
        command that watches its input then learns that nobody listens any more.
        """

    def run_beside(self, argv: Sequence[str], *, timeout_s: float) -> Completed | None:  # noqa: ARG002 - most cannot
        """Runs a short command while another thread reads a stream, over the same connection.

        None where that would take another login.
        """
        return None

    @abstractmethod
    def describe(self) -> str:
        """What carries the commands, and why it was chosen."""

    def close(self) -> None:  # noqa: B027 - most hold nothing between commands
        """Closes connections, threads and processes. May be called twice."""

    def __enter__(self: AnyTransport) -> AnyTransport:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


AnyTransport = TypeVar("AnyTransport", bound=Transport)


def check_argv(argv: Sequence[str]) -> list[str]:
    """The command as a list; what no system could start is a mistake of the caller's."""
    if not argv or not argv[0] or argv[0].startswith("-") or any("\0" in word for word in argv):
        raise ValueError(f"not a command: {argv!r}")
    return list(argv)


def far_command(argv: Sequence[str]) -> bytes:
    """The command as the one string that ssh carries, quoted once, for the far login shell.

    Means the same to every POSIX shell and zsh. csh trips over a newline in an argument, and
    fish halves a doubled backslash: such values travel over stdin.
    """
    return shlex.join(check_argv(argv)).encode("utf-8", "surrogateescape")


def shown_command(argv: Sequence[str]) -> str:
    """The command's first words, for an error message."""
    return shlex.join(argv[:3]) + (" …" if len(argv) > 3 else "")


def local_argv(argv: Sequence[str]) -> list[bytes]:
    """The command for this system, whatever bytes its words hold."""
    return [os.fsencode(word) for word in check_argv(argv)]
