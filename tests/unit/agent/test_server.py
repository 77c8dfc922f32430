"""The agent reads one bounded request, refuses strangers, and ends with its asker."""

from __future__ import annotations

import os
import signal
from typing import Any

import msgspec
import pytest

from scratchflow import __version__
from scratchflow.agent.request import Request, asking, encode
from scratchflow.agent.server import hang_up_at_end_of, read_request, serve
from scratchflow.model.errors.agent import AgentMismatch, RequestRefused
from scratchflow.model.events import Emit, Event, Item, Log, Warned
from scratchflow.model.results.base import Result, VersionShown


def test_reading_ends_with_the_line_though_the_input_stays_open() -> None:
    receiving, sending = os.pipe()
    try:
        os.write(sending, encode(asking("x", {}, profile_name="p", profile={})) + b"more")
        request, more = read_request(receiving)
        assert (request.do, more) == ("x", b"more")
    finally:
        os.close(receiving)
        os.close(sending)


def test_an_endless_request_is_refused() -> None:
    with open("/dev/zero", "rb", buffering=0) as zero, pytest.raises(RequestRefused, match="MiB"):
        read_request(zero.fileno())


def test_no_request_at_all_is_refused() -> None:
    with open(os.devnull, "rb") as nothing, pytest.raises(RequestRefused, match="no request"):
        read_request(nothing.fileno())


def request(**changed: Any) -> Request:
    asked = asking("version", {}, profile_name="p", profile={}, hold_stdin=False)
    return msgspec.structs.replace(asked, **changed)


def never(*_: object) -> Result:
    pytest.fail("it was done")


@pytest.mark.parametrize("version", ["", "0.0.0", f"{__version__}.1"])
def test_another_version_is_refused_before_anything_is_done(version: str) -> None:
    with pytest.raises(AgentMismatch) as caught:
        serve(request(version=version, hold_stdin=True), never, lambda _: None, stdin=-1)
    assert __version__ in str(caught.value)


@pytest.mark.parametrize(("verbose", "passed"), [(True, [0, 1, 2, 3]), (False, [2, 3])])
def test_details_travel_only_to_those_who_asked_for_them(verbose: bool, passed: list[int]) -> None:
    said: list[Event] = []
    details: list[Event] = [Item(action="add", path="a"), Log(level="debug", message="d")]
    news: list[Event] = [Log(level="info", message="i"), Warned(code="c", message="m")]

    def work(_: Request, emit: Emit) -> Result:
        for event in [*details, *news]:
            emit(event)
        return VersionShown(version="1")

    serve(request(verbose=verbose), work, said.append, stdin=-1)
    assert said == [[*details, *news][number] for number in passed]


class HungUp(Exception):
    """Raised by the test's handler."""


def test_the_end_of_the_input_breaks_off_a_call_that_waits() -> None:
    def hang_up(*_: object) -> None:
        raise HungUp

    def wait_for_ever() -> None:
        os.write(sending, b"what comes after the request is passed over")
        hang_up_at_end_of(receiving)
        os.close(sending)
        os.read(silent[0], 1)

    receiving, sending = os.pipe()
    silent = os.pipe()
    before = signal.signal(signal.SIGHUP, hang_up)
    try:
        with pytest.raises(HungUp):
            wait_for_ever()
    finally:
        signal.signal(signal.SIGHUP, before)
        for descriptor in (receiving, *silent):
            os.close(descriptor)
