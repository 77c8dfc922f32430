"""Events on the wire: every kind has its own name, and any path gets through unchanged."""

from __future__ import annotations

import base64
from typing import get_args

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model import events
from scratchflow.model.events import (
    Answered,
    AnyEvent,
    Asking,
    Data,
    Event,
    Item,
    Progress,
    State,
    path_fields,
)


def test_every_kind_that_travels_has_a_name_of_its_own_and_comes_back() -> None:
    kinds = set(get_args(AnyEvent))
    assert kinds == set(Event.__subclasses__()) - {Asking, Answered, Data}  # which no verb prints
    assert len({kind.__struct_config__.tag for kind in kinds}) == len(kinds)
    event = State(state="running", previous=None, job_id=7)
    assert msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent) == event


def test_an_unknown_total_is_said_and_other_absent_fields_are_not() -> None:
    assert b'"files_total":null' in msgspec.json.encode(Progress(phase="read"))
    assert msgspec.json.encode(Item(action="add", path="a")) == (
        b'{"type":"item","action":"add","path":"a"}'
    )


@given(st.binary(min_size=1))
def test_a_path_of_any_bytes_can_be_made_out_again(raw: bytes) -> None:
    for path in (raw, raw.decode("utf-8", "surrogateescape")):
        fields = path_fields(path)
        (name,) = fields
        text = fields[name]
        assert (text.encode() if name == "path" else base64.b64decode(text)) == raw
        msgspec.json.encode(Item(action="add", **fields))


def test_nothing_but_events_and_their_envelope_is_in_the_module() -> None:
    fields = {name for kind in Event.__subclasses__() for name in kind.__struct_fields__}
    assert not fields & set(events.Envelope.__struct_fields__)
