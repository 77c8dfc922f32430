"""Notices a node that will not answer any more, although `srun` or ssh still waits for it.

After a node crash `srun` may wait for ever, especially when the node is back before Slurm noticed;
ssh waits until its connection times out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from scratchflow.model.allocation import HELD, Allocation
from scratchflow.model.errors import ScratchflowError, SlurmUnreachable
from scratchflow.model.events import Hello
from scratchflow.process.child import Completed
from scratchflow.reach.node import NodeTransport
from scratchflow.ssh.transport.base import Feed, Stream, Transport
from scratchflow.ssh.transport.child import ChildStream

SILENT_S = 20.0
"""An agent that is silent for so long is looked after, and again every so often."""
PROBE_S = 30.0
# Looking after it may fail because the network pauses: only so many times in a row mean something.
_ENOUGH = 4
# Before its first word there is nothing to look after, and a step may have to wait, or Python to be
# read from a slow disk.
_ENOUGH_AT_FIRST = 12
_FAREWELL_S = 1.0
# Says it in words: an exit code may be that of what carries the question.
_LOOK = ["sh", "-c", 'if [ -d "/proc/$1" ]; then echo there; else echo gone; fi', "sh"]
_SEEN = {b"there": "", b"gone": "what was started there is gone"}


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
        self._agent: int | None = None  # its process on the node
        self.given_up: str | None = None
        """Why, when the stream was ended from here."""

    def meet(self, hello: Hello) -> None:
        """The agent has said who it is."""
        self._agent = hello.pid

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
            return WatchedStream(stream, self._watch)
        except BaseException:  # no thread to be had, or interrupted: nobody else will end it
            stream.close()
            raise

    def _watch(self, stream: WatchedStream) -> None:
        in_vain, was_lost = 0, False
        while stream.wait_for_silence(self._silent_s):
            lost = self._lost()
            in_vain = in_vain + 1 if lost is None else 0
            enough = _ENOUGH_AT_FIRST if self._agent is None else _ENOUGH
            # Twice in a row: an agent that has just ended may have its last words on their way.
            if (lost and was_lost) or in_vain >= enough:
                self.given_up = lost or "nobody there answers"
                stream.give_up()
                return
            was_lost = bool(lost)

    def _lost(self) -> str | None:
        """Why nothing will come any more, "" when all is well, None when nobody can say."""
        try:
            state = self._ask().state
        except SlurmUnreachable:
            return ""  # Slurm may be gone for hours: what runs on the node does not need it
        if state not in HELD:
            return "its job has ended"
        if state == "suspended":
            return ""  # nothing there moves until it goes on
        if self._agent is None:
            return None
        try:
            done = self._node.run([*_LOOK, str(self._agent)], timeout_s=self._probe_s)
        except ScratchflowError:
            return None
        return _SEEN.get(done.stdout.strip())


class WatchedStream(Stream):
    """A stream, and a thread that knows how long it has been silent."""

    def __init__(self, stream: ChildStream, watch: Callable[[WatchedStream], None]) -> None:
        self._stream = stream
        self._heard_s = time.monotonic()
        self._done = threading.Event()
        self.give_up = stream.give_up
        self._thread = threading.Thread(target=watch, args=(self,), name="node-watch", daemon=True)
        self._thread.start()

    def __next__(self) -> bytes:
        try:
            line = next(self._stream)
        finally:
            self.returncode, self.stderr_tail = self._stream.returncode, self._stream.stderr_tail
        self._heard_s = time.monotonic()
        return line

    def wait_for_silence(self, silent_s: float) -> bool:
        """Returns when nothing was heard for so long, or since the last time; False at the end."""
        begun_s = time.monotonic()
        while not self._done.is_set():
            left_s = max(self._heard_s, begun_s) + silent_s - time.monotonic()
            if left_s <= 0:
                return True
            self._done.wait(left_s)
        return False

    def close(self) -> None:
        """Closes everything. May be called twice."""
        self._done.set()
        self._stream.close()
        self._thread.join(_FAREWELL_S)  # it may be looking after the node
