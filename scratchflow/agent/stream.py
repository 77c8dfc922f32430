"""The agent's lines as they arrive: noise before the first, an event in each, bounds on all."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.by_code import error_from_agent
from scratchflow.model.events import (
    PROTOCOL_VERSION,
    Checked,
    Data,
    Event,
    Failure,
    Hello,
    Item,
    Log,
    Progress,
    State,
    Status,
    Summary,
    Warned,
)
from scratchflow.model.text import last_line

# One line may hold the difference of two large snapshots.
MAX_LINE_BYTES = 64 << 20
# What login shells say before the agent speaks.
MAX_NOISE_BYTES = 1 << 20
_KEPT_NOISE_BYTES = 4096
_FIRST_KEY = b'{"v":'
_LARGEST = 1 << 63

_KINDS: tuple[type[Event], ...] = (
    Hello,
    State,
    Status,
    Progress,
    Item,
    Warned,
    Log,
    Checked,
    Data,
    Summary,
    Failure,
)
_DECODERS = {str(kind.__struct_config__.tag): msgspec.json.Decoder(kind) for kind in _KINDS}


class Garbled(Exception):
    """A line that no agent writes; says why."""


class _Head(msgspec.Struct):
    """What every line has, of whatever type; the rest is read when the type is known."""

    v: int
    seq: int
    type: str


_HEAD = msgspec.json.Decoder(_Head)


class Line(msgspec.Struct, frozen=True):
    """One line of the stream; `event` is None for a type that is not known here."""

    v: int
    seq: int
    event: Event | None


def parse_line(raw: bytes) -> Line:
    """The line as an event; `Garbled` for anything else."""
    if len(raw) > MAX_LINE_BYTES:
        raise Garbled(f"a line is longer than {MAX_LINE_BYTES >> 20} MiB")
    try:
        head = _HEAD.decode(raw)
        known = head.v == PROTOCOL_VERSION or head.type == "hello"
        decoder = _DECODERS.get(head.type) if known else None
        event: Event | None = decoder.decode(raw) if decoder else None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        shown = raw[:60].decode("utf-8", "replace")
        raise Garbled(f"`{shown}` is not a line of it ({error})") from None
    _refuse_absurd_numbers(event)
    return Line(head.v, head.seq, event)


def as_error(failure: Failure) -> ScratchflowError:
    """What an agent reported, as the error that it was there."""
    return error_from_agent(
        failure.code,
        failure.message,
        failure.hint,
        retryable=failure.retryable,
        exit_code=failure.exit_code,
    )


class Preamble:
    """Passes over what comes before the agent's first line, and keeps the end of it."""

    def __init__(self) -> None:
        self._bytes = 0
        self._kept = b""

    def look_for_hello(self, raw: bytes) -> Line | None:
        """The hello, also when a prompt or an escape sequence stands before it on its line."""
        for start in _starts(raw):
            line = _hello_at(raw[start:])
            if line:
                return line
        self._bytes += len(raw)
        if self._bytes > MAX_NOISE_BYTES:
            raise Garbled(f"more than {MAX_NOISE_BYTES >> 20} MiB came before its first line")
        self._kept = (self._kept + b"\n" + raw)[-_KEPT_NOISE_BYTES:]
        return None

    def last_words(self) -> str:
        """What was said instead of a hello."""
        return last_line(self._kept)


def _hello_at(raw: bytes) -> Line | None:
    try:
        line = parse_line(raw)
    except Garbled:
        return None
    return line if isinstance(line.event, Hello) else None


def _starts(raw: bytes) -> Iterator[int]:
    """Where our line could begin; a few places, however often noise looks like one."""
    start = raw.find(_FIRST_KEY)
    for _ in range(8):
        if start < 0:
            return
        yield start
        start = raw.find(_FIRST_KEY, start + 1)


def _refuse_absurd_numbers(event: Event | None) -> None:
    """No count is negative or past what a file system has; a progress bar must not choke on one."""
    for name in event.__struct_fields__ if event else ():
        value = getattr(event, name)
        if isinstance(value, int) and not 0 <= value < _LARGEST:
            raise Garbled(f"`{name}` is absurd")
