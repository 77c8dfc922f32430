"""Notices an agent that will not answer any more, although what carries it still waits for it.

What every watch shares: how silence is measured, how a process is looked after, and how many looks are enough.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from scratchflow.model.events import Hello
from scratchflow.process.child import Completed
from scratchflow.ssh.transport.base import Feed, Stream, Transport

SILENT_S = 20.0
"""An agent that is silent for so long is looked after, and again every so often."""
PROBE_S = 30.0
# Looking after it may fail because the network pauses, and a debugger stops a process for a moment: only so many
# times in a row mean something.
ENOUGH = 4
# Before its first word there is nothing to look after, and a step may have to wait, or Python to be
# read from a slow disk.
ENOUGH_AT_FIRST = 12
_FAREWELL_S = 1.0
# Says it in words: an exit code may be that of what carries the question. `State` and the switches of the main thread:
# one that waits for a disk and was never switched to in between has not moved.
_LOOK = """
[ "$(uname -n)" = "$2" ] || { echo elsewhere; exit; }
[ -d "/proc/$1" ] || { echo gone; exit; }
while read -r key value rest; do
    case $key in State:) state=$value ;; *ctxt_switches:) moved="$moved $value" ;; esac
done 2>/dev/null </proc/"$1"/status
echo "there $state$moved"
"""
_STOPPED = "the process was stopped (by a signal, or by the host)"
_STUCK = "it waits for a disk there that does not answer"


class Seen(msgspec.Struct, frozen=True):
    """What a look after the agent found. `lost`: nothing will come. `unsure`: nobody says, or it stands still."""

    kind: Literal["well", "lost", "unsure"]
    reason: str = ""


WELL = Seen("well")
UNSURE = Seen("unsure", "nobody there answers")


class Looks:
    """One look after the other at the same process."""

    def __init__(self) -> None:
        self._before = b""

    def argv(self, hello: Hello) -> list[str]:
        """What is run on the agent's host to see how its process is."""
        return ["sh", "-c", _LOOK, "sh", str(hello.pid), hello.host]

    def read(self, done: Completed) -> Seen:
        """What the look said."""
        words = done.stdout.split()
        before, self._before = self._before, done.stdout
        if words == [b"elsewhere"]:
            return WELL  # asked on another host: nothing is known, and nothing is wrong
        if words == [b"gone"]:
            return Seen("lost", "what was started there is gone")
        if words[:1] != [b"there"]:
            return UNSURE
        state = words[1:2]
        if state in ([b"T"], [b"t"]):
            return Seen("unsure", _STOPPED)
        if state == [b"D"] and before == done.stdout:
            return Seen("unsure", _STUCK)
        return WELL


def look_until_enough(
    stream: WatchedStream,
    look: Callable[[], Seen],
    has_spoken: Callable[[], bool],
    silent_s: float,
    quiet_s: float = 0.0,
) -> str | None:
    """Looks after the agent in every silence longer than `quiet_s`, then again and again; why it is to be given up, or None at the end of the stream."""
    in_vain, was_lost = 0, False
    while stream.wait_for_silence(max(silent_s, quiet_s), silent_s):
        seen = look()
        in_vain = in_vain + 1 if seen.kind == "unsure" else 0
        enough = ENOUGH if has_spoken() else ENOUGH_AT_FIRST
        # Twice in a row: an agent that has just ended may have its last words on their way.
        if (seen.kind == "lost" and was_lost) or in_vain >= enough:
            return seen.reason
        was_lost = seen.kind == "lost"
    return None


class WatchedStream(Stream):
    """A stream, and a thread that knows how long it has been silent."""

    def __init__(
        self, stream: Stream, watch: Callable[[WatchedStream], None], *, name: str
    ) -> None:
        self._stream = stream
        self._heard_s = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=watch, args=(self,), name=name, daemon=True)
        self._thread.start()

    def __next__(self) -> bytes:
        try:
            line = next(self._stream)
        finally:
            self.returncode, self.stderr_tail = self._stream.returncode, self._stream.stderr_tail
        self._heard_s = time.monotonic()
        return line

    def wait_for_silence(self, silent_s: float, again_s: float) -> bool:
        """Returns when nothing was heard for `silent_s`, at the earliest after `again_s`; False at the end."""
        begun_s = time.monotonic()
        while not self._done.is_set():
            left_s = max(self._heard_s + silent_s, begun_s + again_s) - time.monotonic()
            if left_s <= 0:
                return True
            self._done.wait(left_s)
        return False

    def give_up(self) -> None:
        """Ends the command; whoever waits for its next line meets its end instead."""
        self._stream.give_up()

    def close(self) -> None:
        """Closes everything. May be called twice."""
        self._done.set()
        self._stream.close()
        self._thread.join(_FAREWELL_S)  # it may be looking after the agent


class Watch(Transport):
    """A transport for one request, watched: its stream ends when no answer can come."""

    _name = "watch"

    def __init__(
        self, inner: Transport, *, silent_s: float, probe_s: float, quiet_s: float = 0.0
    ) -> None:
        self.host = inner.host
        self._inner = inner
        self._silent_s = silent_s
        self._quiet_s = quiet_s
        self._probe_s = probe_s
        self._agent: Hello | None = None
        self._looks = Looks()
        self.given_up: str | None = None
        """Why, when the stream was ended from here."""

    @abstractmethod
    def _look(self) -> Seen:
        """One look after the agent."""

    def meet(self, hello: Hello) -> None:
        """The agent has said who it is."""
        self._agent = hello

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        return self._inner.run(argv, stdin=stdin, timeout_s=timeout_s)

    def describe(self) -> str:
        return self._inner.describe()

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> WatchedStream:
        stream = self._inner.stream(argv, stdin=stdin, feed=feed, hold_stdin=hold_stdin)
        try:
            return WatchedStream(stream, self._watch, name=self._name)
        except BaseException:  # no thread to be had, or interrupted: nobody else will end it
            stream.close()
            raise

    def _watch(self, stream: WatchedStream) -> None:
        self.given_up = look_until_enough(
            stream,
            self._look,
            lambda: self._agent is not None,
            self._silent_s,
            self._quiet_s,
        )
        if self.given_up:
            stream.give_up()
