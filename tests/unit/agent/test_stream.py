"""The agent's lines: noise before the first is passed over, everything after it is checked."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest

from scratchflow.agent.stream import (
    MAX_LINE_BYTES,
    MAX_NOISE_BYTES,
    Garbled,
    Preamble,
    as_error,
    parse_line,
)
from scratchflow.model.errors.agent import FarError
from scratchflow.model.errors.store import StoreLocked
from scratchflow.model.events import (
    PROTOCOL_VERSION,
    AnyEvent,
    Event,
    Failure,
    Hello,
    Level,
    Progress,
)
from tests.unit.agent.scripted import hello, summary


def line(fields: dict[str, Any], **head: Any) -> bytes:
    return json.dumps({"v": PROTOCOL_VERSION, "seq": 3} | head | fields).encode()


HELLO = line(hello()).replace(b'{"v": ', b'{"v":')
PROGRESS = {"type": "progress", "phase": "read", "files_done": 1, "bytes_done": 2}


def test_a_line_says_its_number_and_its_event() -> None:
    parsed = parse_line(line(PROGRESS, seq=9))
    assert (parsed.v, parsed.seq) == (PROTOCOL_VERSION, 9)
    assert parsed.event == Progress(phase="read", files_done=1, bytes_done=2)


@pytest.mark.parametrize(
    "kind",
    [kind for kind in get_args(AnyEvent) if kind is not Hello],
    ids=lambda kind: kind.__name__,
)
def test_every_kind_of_event_that_json_may_show_is_understood(kind: type[Event]) -> None:
    """Else it would be passed over without a word, as one of another version."""
    samples: dict[object, Any] = {
        bool: True,
        int: 1,
        float: 1.5,
        str: "x",
        str | None: None,
        Level: "info",
    }
    fields = [field for field in msgspec.structs.fields(kind) if field.required]
    values = {field.name: samples.get(field.type, {}) for field in fields}
    tag = str(kind.__struct_config__.tag)
    assert type(parse_line(line({"type": tag, **values})).event) is kind


@pytest.mark.parametrize(
    "raw",
    [
        line({"type": "of the future"}),
        line(PROGRESS, v=PROTOCOL_VERSION + 1),
        line({"type": "progress", "phase": 7}, v=PROTOCOL_VERSION + 1),
    ],
)
def test_what_another_version_says_is_no_event_and_no_error(raw: bytes) -> None:
    assert parse_line(raw).event is None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b'{"v":1,"seq":0}',
        b"\xff\xfe",
        b'{"v":' + b"[" * 100_000,
        line({"type": "progress", "phase": 7}),
        line(PROGRESS | {"files_done": -1}),
        line(PROGRESS | {"bytes_done": 1 << 63}),
        line(PROGRESS | {"bytes_done": 10**400}),
        b" " * (MAX_LINE_BYTES + 1),
    ],
    ids=lambda raw: repr(raw[:20]),
)
def test_what_no_agent_writes_is_garbled(raw: bytes) -> None:
    with pytest.raises(Garbled):
        parse_line(raw)


@pytest.mark.parametrize("before", [b"", b"user@login:~$ ", b"\x1b]0;title\x07", b'{"v":' * 7])
def test_a_hello_is_found_behind_a_prompt(before: bytes) -> None:
    found = Preamble().look_for_hello(before + HELLO)
    assert found
    assert isinstance(found.event, Hello)


def test_another_event_is_no_hello() -> None:
    preamble = Preamble()
    assert preamble.look_for_hello(line(summary()).replace(b'{"v": ', b'{"v":')) is None


def test_endless_noise_is_cut_off_and_the_end_of_it_is_kept() -> None:
    preamble = Preamble()
    for _ in range(MAX_NOISE_BYTES // 1024 - 1):
        assert preamble.look_for_hello(b"x" * 1024) is None
    assert preamble.look_for_hello(b"your password has expired") is None
    assert preamble.last_words() == "your password has expired"
    assert len(preamble._kept) <= 4096
    with pytest.raises(Garbled, match="1 MiB"):
        preamble.look_for_hello(b"x" * 1024)


def test_an_error_comes_back_as_its_class_or_keeps_its_unknown_code() -> None:
    def failed(code: str) -> Failure:
        return Failure(code=code, message="m", hint="h", retryable=True, exit_code=34)

    assert isinstance(as_error(failed(StoreLocked.code)), StoreLocked)
    unknown = as_error(failed("of.the.future"))
    assert isinstance(unknown, FarError)
    assert unknown.code == "of.the.future"
