"""What a running command tells: one stream of events, read by people and by programs alike.

`--json` prints each event as one line inside an envelope; the envelope's fields are added by
the writer (`scratchflow.report.jsonl`), so flows only say what happened.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

PROTOCOL_VERSION = 1

Role = Literal["laptop", "login", "node"]
Level = Literal["debug", "info"]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """Base of all events; the wire name is the class's `tag`."""


class Hello(Event, tag="hello", frozen=True):
    """First line: who is speaking."""

    version: str
    pid: int
    host: str
    role: Role


class State(Event, tag="state", frozen=True):
    """The allocation went from one state to another."""

    state: str
    previous: str | None
    reason: str | None = None
    job_id: int | None = None
    node: str | None = None
    deadline: str | None = None
    start_estimate: str | None = None
    resumed: bool = False
    """An earlier run asked for it: an interruption leaves it in the queue."""


class Status(Event, tag="status", frozen=True):
    """A fresh picture of everything, while watching."""

    data: dict[str, Any]


class Progress(Event, tag="progress", omit_defaults=False, frozen=True):
    """How far a phase has come; totals are null while unknown."""

    phase: str
    files_done: int = 0
    files_total: int | None = None
    bytes_done: int = 0
    bytes_total: int | None = None


PHASE_WORKSPACE = "the workspace"
"""The phase of `up` in which the node is held already, and asked for the workspace."""


class Item(Event, tag="item", frozen=True):
    """One path that was handled. `path_b64` stands in when the name is not UTF-8."""

    action: str
    path: str | None = None
    path_b64: str | None = None


class Warned(Event, tag="warning", frozen=True):
    """Something the user should know; the command goes on."""

    code: str
    message: str
    path: str | None = None
    path_b64: str | None = None


class Log(Event, tag="log", frozen=True):
    """A remark: `info` for everybody, `debug` with `--verbose`."""

    level: Level
    message: str
    for_terminal: bool = False
    """About keys like Ctrl-C: of use only to somebody who has typed the command."""


class Checked(Event, tag="check", frozen=True):
    """One thing was looked at, while a longer command goes on; `fix` is what to do about it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


class Asking(Event, tag="asking", frozen=True):
    """A question is open on the terminal: no bar until `Answered`. Never in `--json`, which never asks."""


class Answered(Event, tag="answered", frozen=True):
    """The question is over; bars may run again."""


class Data(Event, tag="data", frozen=True):
    """A piece of a file, from an agent to whoever asked for it. Never in `--json` of a verb."""

    content: bytes
    is_error: bool = False
    """Of what a job printed: to its standard error."""


class Summary(Event, tag="summary", omit_defaults=False, frozen=True):
    """Last line when it worked."""

    data: dict[str, Any]
    warnings: int
    exit_code: int


class Failure(Event, tag="error", omit_defaults=False, frozen=True):
    """Last line when it did not work."""

    code: str
    message: str
    hint: str
    retryable: bool
    exit_code: int


AnyEvent = Hello | State | Status | Progress | Item | Warned | Log | Checked | Summary | Failure
Emit = Callable[[Event], None]


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that every line has around its event."""

    v: Literal[1]
    seq: int
    ts: str
    op: str


def path_fields(path: str | bytes) -> dict[str, str]:
    """`path` or `path_b64` for an event, whichever can carry the name unchanged."""
    raw = path if isinstance(path, bytes) else path.encode("utf-8", "surrogateescape")
    try:
        return {"path": raw.decode("utf-8")}
    except UnicodeDecodeError:
        import base64  # for few names; not for every start

        return {"path_b64": base64.b64encode(raw).decode("ascii")}
