"""Notices an agent on the login host that stands still, although the connection to it lives.

ssh notices a dead connection by itself. A process that was stopped, or that waits for a disk which does not
answer, keeps its connection: it is looked after over the same one.
"""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.model.errors import AgentSilent, CommandTimedOut, ScratchflowError
from scratchflow.model.events import Hello
from scratchflow.process.child import Completed
from scratchflow.reach.watch import (
    PROBE_S,
    SILENT_S,
    UNSURE,
    WELL,
    Looks,
    Seen,
    WatchedStream,
    look_until_enough,
)
from scratchflow.ssh.transport.base import Feed, Transport

_AT_FIRST = Seen("unsure", "it has not said a word yet")


class LoginWatch(Transport):
    """The transport to the login host for one request, watched: its stream ends when no answer can come."""

    def __init__(
        self, login: Transport, *, silent_s: float = SILENT_S, probe_s: float = PROBE_S
    ) -> None:
        self.host = login.host
        self._login = login
        self._silent_s = silent_s
        self._probe_s = probe_s
        self._agent: Hello | None = None
        self._looks = Looks()
        self._given_up: str | None = None

    def meet(self, hello: Hello) -> None:
        """The agent has said who it is."""
        self._agent = hello

    def silence(self) -> AgentSilent | None:
        """Why the stream was ended from here, if it was."""
        if self._given_up is None:
            return None
        if self._agent is None:
            way_on = f"`ssh {self.host}` shows whether the host answers; then run the command again"
            return AgentSilent(host=self.host, reason=self._given_up, way_on=way_on)
        pid = self._agent.pid
        way_on = (
            f"`ssh {self.host} kill -CONT {pid}` lets it notice that nobody listens any more, and end; "
            "then run the command again: it finishes or undoes what this one began"
        )
        return AgentSilent(host=self.host, reason=f"{self._given_up}, process {pid}", way_on=way_on)

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        return self._login.run(argv, stdin=stdin, timeout_s=timeout_s)

    def describe(self) -> str:
        return self._login.describe()

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> WatchedStream:
        stream = self._login.stream(argv, stdin=stdin, feed=feed, hold_stdin=hold_stdin)
        try:
            return WatchedStream(stream, self._watch, name="login-watch")
        except BaseException:  # no thread to be had, or interrupted: nobody else will end it
            stream.close()
            raise

    def _watch(self, stream: WatchedStream) -> None:
        self._given_up = look_until_enough(
            stream, self._look, lambda: self._agent is not None, self._silent_s
        )
        if self._given_up:
            stream.give_up()

    def _look(self) -> Seen:
        if self._agent is None:
            return _AT_FIRST
        try:
            done = self._login.run_beside(self._looks.argv(self._agent), timeout_s=self._probe_s)
        except CommandTimedOut:
            return UNSURE
        except ScratchflowError:
            return WELL  # the transport itself tells a connection that broke
        return WELL if done is None else self._looks.read(done)
