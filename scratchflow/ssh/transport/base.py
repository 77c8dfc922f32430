"""The seam: running a command somewhere, whatever carries it there.

Whoever uses a transport knows no ssh; whoever implements one knows no Slurm. All of them pass
the tests in `tests/contract/transports`.
"""

from __future__ import annotations

import os
import secrets
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from scratchflow.model.errors import UploadFailed
from scratchflow.process.child import Completed

CONNECT_TIMEOUT_S = 10
ALIVE_INTERVAL_S = 15
ALIVE_COUNT = 3
STDERR_TAIL_BYTES = 64 * 1024
ENDED_BY_SIGNAL = -1
# In a terminal this logs in, asking what has to be asked, and leaves a shared connection behind.
LOGIN_COMMAND = "scratchflow status"

# A lost connection looks like the end of the input to `cat`: only a file of the right size gets
# the name. The script is fixed; its values are arguments.
_PUT = """
umask 077
trap 'rm -f -- "$1"' EXIT
cat > "$1" && [ "$(($(wc -c < "$1")))" = "$3" ] && chmod -- "$4" "$1" && mv -f -- "$1" "$2"
"""


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
        """Lets go of everything; harmless when repeated."""

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
    """A way to run commands on one host. Used by one thread at a time."""

    host: str
    reason: str = ""

    @abstractmethod
    def connect(self) -> None:
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
        self, argv: Sequence[str], *, stdin: bytes = b"", hold_stdin: bool = False
    ) -> Stream:
        """Starts a command and gives its stdout line by line.

        With `hold_stdin` the input stays open after `stdin` until the stream is closed: a
        command that watches its input then learns that nobody listens any more.
        """

    @abstractmethod
    def describe(self) -> str:
        """What carries the commands, and why it was chosen."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of connections, threads and processes; harmless when repeated."""

    def put(
        self, path: str, content: bytes | Path, *, mode: int = 0o600, timeout_s: float = 600
    ) -> None:
        """Makes a file on the host: readers there see the old one or the whole new one.

        Relative to the home directory. The content passes through memory; no fsync is done.
        """
        data = content if isinstance(content, bytes) else content.read_bytes()
        folder, slash, name = path.rpartition("/")
        temp = f"{folder}{slash}.tmp-{secrets.token_hex(6)}-{name}"
        # `./-x` instead of `-x`, for programs that know no `--`.
        names = [file if slash else f"./{file}" for file in (temp, path)]
        argv = ["sh", "-c", _PUT, "sh", *names, str(len(data)), f"{mode:o}"]
        done = self.run(argv, stdin=data, timeout_s=timeout_s)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UploadFailed(
                path=path, host=self.host, reason=said[-1] if said else "it arrived incomplete"
            )

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
