"""The transport for this machine: no ssh, the same promises."""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.process.child import Completed
from scratchflow.ssh.transport.base import Feed, Stream, Transport, local_argv
from scratchflow.ssh.transport.child import ChildStream, run_carried


class LocalTransport(Transport):
    """Runs commands here; a command given up on is ended, with everything it started."""

    def __init__(self, host: str = "local", reason: str = "this machine is the host") -> None:
        self.host = host
        self.reason = reason

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        try:
            words = local_argv(argv)
            return run_carried(self.host, argv, words, stdin=stdin, timeout_s=timeout_s)
        except OSError as error:
            return _not_started(argv, error)

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> Stream:
        try:
            return ChildStream(local_argv(argv), stdin=stdin, feed=feed, hold_stdin=hold_stdin)
        except OSError as error:
            return _NothingStarted(_not_started(argv, error))

    def describe(self) -> str:
        return f"local ({self.reason})"


class _NothingStarted(Stream):
    def __init__(self, completed: Completed) -> None:
        self.returncode = completed.returncode
        self.stderr_tail = completed.stderr

    def __next__(self) -> bytes:
        raise StopIteration

    def close(self) -> None:
        """Does nothing."""


def _not_started(argv: Sequence[str], error: OSError) -> Completed:
    """The result that a shell would give."""
    said = f"{argv[0]}: {(error.strerror or 'cannot be started').lower()}\n"
    missing = isinstance(error, FileNotFoundError)
    return Completed(127 if missing else 126, b"", said.encode("utf-8", "surrogateescape"))
