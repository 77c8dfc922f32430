"""Notices a node that will not answer any more, although `srun` or ssh still waits for it.

After a node crash `srun` may wait for ever, especially when the node is back before Slurm noticed;
ssh waits until its connection times out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scratchflow.model.allocation import HELD, Allocation
from scratchflow.model.errors import ScratchflowError, SlurmUnreachable
from scratchflow.model.events import Hello
from scratchflow.process.child import Completed
from scratchflow.reach.node import NodeTransport
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


class NodeWatch(Transport):
    """The transport to the node for one request, watched: its stream ends when no answer can come.

    `ask` says how the job is, or raises SlurmUnreachable.
    """

    def __init__(
        self,
        node: NodeTransport,
        ask: Callable[[], Allocation],
        *,
        silent_s: float = SILENT_S,
        probe_s: float = PROBE_S,
    ) -> None:
        self.host = node.host
        self._node = node
        self._ask = ask
        self._silent_s = silent_s
        self._probe_s = probe_s
        self._agent: Hello | None = None
        self._looks = Looks()
        self.given_up: str | None = None
        """Why, when the stream was ended from here."""

    def meet(self, hello: Hello) -> None:
        """The agent has said who it is."""
        self._agent = hello

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        return self._node.run(argv, stdin=stdin, timeout_s=timeout_s)

    def describe(self) -> str:
        return self._node.describe()

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> WatchedStream:
        stream = self._node.stream(argv, stdin=stdin, feed=feed, hold_stdin=hold_stdin)
        try:
            return WatchedStream(stream, self._watch, name="node-watch")
        except BaseException:  # no thread to be had, or interrupted: nobody else will end it
            stream.close()
            raise

    def _watch(self, stream: WatchedStream) -> None:
        self.given_up = look_until_enough(
            stream, self._look, lambda: self._agent is not None, self._silent_s
        )
        if self.given_up:
            stream.give_up()

    def _look(self) -> Seen:
        try:
            state = self._ask().state
        except SlurmUnreachable:
            return WELL  # Slurm may be gone for hours: what runs on the node does not need it
        if state not in HELD:
            return Seen("lost", "its job has ended")
        if state == "suspended":
            return WELL  # nothing there moves until it goes on
        if self._agent is None:
            return UNSURE
        try:
            done = self._node.run(self._looks.argv(self._agent), timeout_s=self._probe_s)
        except ScratchflowError:
            return UNSURE
        return self._looks.read(done)
