"""Sends one request to an agent, forwards its events, and returns its result or raises its error.

The answer may be noisy or incomplete: a login shell prints first, a crash cuts it short, and
whatever else comes is refused with a reason. Time is the transport's: it notices a dead connection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from scratchflow.agent.request import Request, encode
from scratchflow.agent.stream import Garbled, Line, Preamble, as_error, parse_line
from scratchflow.model.errors.agent import AgentGarbled, AgentMismatch, AgentMissing
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.events import PROTOCOL_VERSION, Emit, Failure, Hello, Summary
from scratchflow.model.text import last_line
from scratchflow.ssh.transport.base import Feed, Stream, Transport

Answer = TypeVar("Answer")
# Puts an agent of ours there, or raises what stands in the way.
Heal = Callable[[ScratchflowError], object]
Meet = Callable[[Hello], None]


def call(
    transport: Transport,
    request: Request,
    emit: Emit,
    *,
    command: Sequence[str],
    meet: Meet = lambda _: None,
    feed: Feed | None = None,
) -> dict[str, Any]:
    """Asks once; returns the `data` of the summary, or raises what the agent reported.

    `feed` goes to the agent after the request, which says so. Interrupted here, the stream is closed, and a request with `hold_stdin` ends over there too.
    `meet` hears who the agent is.
    """
    stdin, held = encode(request), request.hold_stdin
    stream = transport.stream(command, stdin=stdin, feed=feed, hold_stdin=held)
    try:
        return _Listener(transport.host, request, emit, meet).hear(stream)
    finally:
        stream.close()


def call_healed(ask: Callable[[], Answer], heal: Heal) -> Answer:
    """Asks; where there is no agent, or it refused for its version, heals that and asks once more.

    In both cases nothing was done yet, so nothing is done twice.
    """
    try:
        return ask()
    except (AgentMissing, AgentMismatch) as error:
        heal(error)
    return ask()


class _Listener:
    def __init__(self, host: str, request: Request, emit: Emit, meet: Meet) -> None:
        self._host = host
        self._request = request
        self._emit = emit
        self._on_hello = meet
        self._preamble = Preamble()
        self._next_seq = 0
        self._stranger = ""

    def hear(self, stream: Stream) -> dict[str, Any]:
        for raw in stream:
            try:
                line = self._understand(raw)
                data = self._take(line) if line else None
            except Garbled as garbled:
                raise AgentGarbled(host=self._host, reason=garbled) from None
            if data is not None:
                return data
        raise self._cut_short(stream)

    def _understand(self, raw: bytes) -> Line | None:
        if self._next_seq:
            line: Line | None = parse_line(raw)
        else:
            line = self._preamble.look_for_hello(raw)
        if line is None:
            return None
        if line.seq != self._next_seq:
            raise Garbled(f"line {self._next_seq} is missing, {line.seq} came instead")
        self._next_seq += 1
        return line

    def _take(self, line: Line) -> dict[str, Any] | None:
        """The data when this line is the end of it."""
        event = line.event
        if isinstance(event, Failure):
            raise as_error(event)
        if isinstance(event, Hello):
            self._meet(line, event)
            return None
        if self._stranger:
            raise Garbled(f"it is scratchflow {self._stranger} and took a request of another one")
        if isinstance(event, Summary):
            return event.data
        if event is not None:
            self._emit(event)
        return None

    def _meet(self, line: Line, hello: Hello) -> None:
        if line.seq:
            raise Garbled("a second agent answers in the same stream")
        if line.v != PROTOCOL_VERSION:
            raise AgentMismatch(host=self._host, agent=hello.version, asking=self._request.version)
        if hello.version != self._request.version:  # its next line has to be a refusal
            self._stranger = hello.version
        self._on_hello(hello)

    def _cut_short(self, stream: Stream) -> ScratchflowError:
        said = last_line(stream.stderr_tail)
        if self._next_seq:
            reason = f"its agent ended before it was done ({_ending(stream.returncode)})"
            return ConnectionLost(host=self._host, reason=f"{reason}: {said}" if said else reason)
        said = said or self._preamble.last_words()
        reason = _ending(stream.returncode)
        return AgentMissing(host=self._host, reason=f"{reason}: {said}" if said else reason)


def _ending(returncode: int | None) -> str:
    if returncode is None:
        return "no exit code"
    return "killed by a signal" if returncode < 0 else f"exit code {returncode}"
