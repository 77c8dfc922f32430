"""The transport for whoever asks one thing: a plain `ssh`, as a person would type it.

A command that asks once needs no connection that it could use again: ssh logs in and starts the far command in one go, beside
our own work, and paramiko, which takes longer to load than ssh to log in, is not needed. Whatever is more than that, and
whatever ssh cannot do without asking somebody, goes over a connection that stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scratchflow.model.errors.ssh import AuthNeeded, HostKeyUnknown, SshUnusable
from scratchflow.process.child import Completed
from scratchflow.ssh.transport.base import Feed, Stream, Transport
from scratchflow.ssh.transport.openssh import OpenSshTransport

# Of these ssh tells before it has started anything over there.
_NOT_LOGGED_IN = (AuthNeeded, HostKeyUnknown, SshUnusable)


class OnceTransport(Transport):
    """The first stream is an ssh of its own; everything else goes over what `connect_to_stay` opens.

    A stream with a feed is never the first: nobody could feed it twice.
    """

    def __init__(self, first: OpenSshTransport, connect_to_stay: Callable[[], Transport]) -> None:
        self.host = first.host
        self._first = first
        self._is_used = False
        self._connect_to_stay = connect_to_stay
        self._staying: Transport | None = None

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        return self._connection().run(argv, stdin=stdin, timeout_s=timeout_s)

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> Stream:
        def over_connection() -> Stream:
            connection = self._connection()
            return connection.stream(argv, stdin=stdin, feed=feed, hold_stdin=hold_stdin)

        if self._is_used or self._staying is not None or feed is not None:
            return over_connection()
        self._is_used = True
        first = self._first.stream(argv, stdin=stdin, hold_stdin=hold_stdin)
        return _FirstStream(first, over_connection)

    def run_beside(self, argv: Sequence[str], *, timeout_s: float) -> Completed | None:
        """By a further ssh, which asks nothing, while the first one runs."""
        beside = self._staying or self._first
        return beside.run_beside(argv, timeout_s=timeout_s)

    def describe(self) -> str:
        return (self._staying or self._first).describe()

    def close(self) -> None:
        if self._staying is not None:
            self._staying.close()
            self._staying = None

    def _connection(self) -> Transport:
        if self._staying is None:
            self._staying = self._connect_to_stay()
        return self._staying


class _FirstStream(Stream):
    """The lines of the first ssh; of `again` instead, when it could not log in."""

    def __init__(self, first: Stream, again: Callable[[], Stream]) -> None:
        self._stream = first
        self._again: Callable[[], Stream] | None = again

    def __next__(self) -> bytes:
        try:
            try:
                line = next(self._stream)
            except _NOT_LOGGED_IN:
                if self._again is None:
                    raise
                self._stream.close()
                self._stream, self._again = self._again(), None
                line = next(self._stream)
        finally:
            self.returncode, self.stderr_tail = self._stream.returncode, self._stream.stderr_tail
        self._again = None
        return line

    def close(self) -> None:
        self._stream.close()

    def give_up(self) -> None:
        self._stream.give_up()
