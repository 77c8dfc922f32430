"""The client copes with login shells, cut streams and hostile far ends, each with a clear end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from scratchflow.agent.client import call, call_healed
from scratchflow.agent.stream import MAX_LINE_BYTES, MAX_NOISE_BYTES
from scratchflow.model.errors.agent import AgentGarbled, AgentMismatch, AgentMissing, FarError
from scratchflow.model.errors.base import InternalBug, ScratchflowError
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.store import StoreLocked
from scratchflow.model.events import Event, Item, Log, Progress, State, Warned
from tests.unit.agent.scripted import (
    ScriptedStream,
    ScriptedTransport,
    a_request,
    failure,
    hello,
    said,
    summary,
)

PROGRESS = {"type": "progress", "phase": "read", "files_done": 1, "bytes_done": 2}


def ask(*lines: bytes, **stream: Any) -> tuple[dict[str, Any], list[Event]]:
    events: list[Event] = []
    far = ScriptedTransport(ScriptedStream(lines, **stream))
    return call(far, a_request(), events.append, command=["agent"]), events


def test_events_are_passed_on_and_the_summary_is_the_answer() -> None:
    data, events = ask(
        *said(
            hello(),
            PROGRESS,
            {"type": "state", "state": "running", "previous": None, "job_id": 7},
            {"type": "warning", "code": "files.changed", "message": "m", "path": "a"},
            {"type": "item", "action": "add", "path_b64": "6Q=="},
            {"type": "log", "level": "info", "message": "hi"},
            summary(snapshot="s"),
        )
    )
    assert data == {"snapshot": "s"}
    assert [type(event) for event in events] == [Progress, State, Warned, Item, Log]


def test_the_request_goes_as_one_line_and_the_input_stays_open() -> None:
    far = ScriptedTransport(ScriptedStream(said(hello(), summary())))
    call(far, a_request(), lambda _: None, command=["sh", "start"])
    ((argv, stdin, hold_stdin),) = far.asked
    assert (argv, hold_stdin) == (["sh", "start"], True)
    assert json.loads(stdin)["do"] == "backup"


@pytest.mark.parametrize(
    "noise",
    [
        [b"Welcome to the cluster!", b"", b"  * quota: 97 %"],
        [b"\xff\xfe\x00", b"{", b'{"v":1,"seq":0}', b'{"v":1,"seq":0,"type":"summary"}'],
        [b"[1, 2, 3]", b"null", b"0", b'"hello"'],
        [b"x" * 500_000],
        [b'{"v":' * 100_000],
        [b"[" * 500_000],
    ],
    ids=["motd", "almost", "json", "long", "many starts", "deep"],
)
def test_what_a_login_shell_says_first_is_passed_over(noise: list[bytes]) -> None:
    assert ask(*noise, *said(hello(), summary(a=1)))[0] == {"a": 1}


@pytest.mark.parametrize("before", [b"Welcome ", b"\x1b]0;title\x07", b'{"v":1} {"v":'])
def test_a_hello_behind_a_prompt_without_a_newline_is_found(before: bytes) -> None:
    first, *rest = said(hello(), summary(a=1))
    assert ask(before + first, *rest)[0] == {"a": 1}


def test_nothing_but_noise_means_there_is_no_agent() -> None:
    with pytest.raises(AgentMissing, match="exit code 127: sh: start: not found") as caught:
        ask(b"Welcome", returncode=127, stderr=b"Warning\nsh: start: not found\n\n")
    assert caught.value.exit_code == 40
    assert "scratchflow setup" in caught.value.shown_hint


def test_without_stderr_the_noise_itself_is_the_reason() -> None:
    with pytest.raises(AgentMissing, match=r"your password has expired\\x1b"):
        ask(b"your password has expired\x1b", returncode=1)


def test_endless_noise_is_cut_off() -> None:
    def noise() -> Iterator[bytes]:
        while True:
            yield b"y" * 100

    with pytest.raises(AgentGarbled, match="MiB"):
        call(ScriptedTransport(ScriptedStream(noise())), a_request(), print, command=["agent"])
    with pytest.raises(AgentGarbled):
        ask(b"x" * (MAX_NOISE_BYTES + 1))


def test_an_error_is_raised_as_its_own_class_in_the_agents_words() -> None:
    with pytest.raises(StoreLocked) as caught:
        ask(*said(hello(), PROGRESS, failure("store.locked")))
    error = caught.value
    assert (str(error), error.shown_hint) == ("it {broke}", "mend {it}")
    assert (error.exit_code, error.retryable, error.code) == (34, True, "store.locked")


def test_an_error_of_a_newer_agent_keeps_its_code() -> None:
    with pytest.raises(FarError) as caught:
        ask(*said(hello(), failure("quota.revoked", exit_code=77, retryable=False)))
    error = caught.value
    assert (error.code, error.exit_code, error.retryable) == ("quota.revoked", 77, False)


@pytest.mark.parametrize("exit_code", [0, 256, 99999])
def test_an_error_never_exits_with_success(exit_code: int) -> None:
    with pytest.raises(InternalBug) as caught:
        ask(*said(hello(), failure("internal.bug", exit_code=exit_code)))
    assert caught.value.exit_code == 1


def test_hostile_words_reach_no_terminal() -> None:
    with pytest.raises(FarError) as caught:
        ask(*said(hello(), failure("x\x1b", message="a\x1b[2J\nb", hint="c\rd")))
    shown = f"{caught.value} {caught.value.code} {caught.value.shown_hint}"
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (said(hello()), "exit code 137"),
        (said(hello(), PROGRESS), "exit code 137"),
        (said(hello(), {"type": "new"}), "exit code 137"),
    ],
)
def test_an_agent_that_ends_without_an_outcome_is_a_lost_connection(
    lines: list[bytes], status: str
) -> None:
    with pytest.raises(ConnectionLost, match=status) as caught:
        ask(*lines, returncode=137, stderr=b"Killed\n")
    assert "Killed" in str(caught.value)
    assert caught.value.retryable


def test_a_broken_connection_is_told_as_the_transport_tells_it() -> None:
    lost = ConnectionLost(host="login", reason="timed out")
    with pytest.raises(ConnectionLost, match="timed out"):
        ask(*said(hello()), breaks_with=lost)


def test_types_and_fields_of_a_newer_agent_are_passed_over() -> None:
    data, events = ask(
        *said(hello(colour="red"), {"type": "dance"}, PROGRESS | {"mood": 1}, summary(a=1))
    )
    assert data == {"a": 1}
    assert len(events) == 1


HUGE = int("9" * 30)


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"Warning: disk quota exceeded",
        b"\x00\xff",
        b"{}",
        b"null",
        b"[" * 1_000_000,
        said(hello(), hello())[1],
        said(hello(), PROGRESS, PROGRESS)[2],
        said(hello())[0],
        said(hello(), {"type": "progress"})[1],
        said(hello(), {"type": "summary", "data": [], "warnings": 0, "exit_code": 0})[1],
        said(hello(), PROGRESS | {"bytes_done": HUGE})[1],
        said(hello(), PROGRESS | {"bytes_done": -1})[1],
        said(hello(), PROGRESS | {"bytes_total": 1.5e300})[1],
        said(hello(), PROGRESS)[1].replace(b'"seq":1', b'"seq":' + b"1" * 9000),
        said(hello(), failure("x", exit_code=HUGE))[1],
        said(hello(), failure("x", message=None))[1],
    ],
    ids=lambda line: line[:70].decode("latin1"),
)
def test_garbage_after_the_hello_is_an_error_not_a_guess(garbage: bytes) -> None:
    with pytest.raises(AgentGarbled) as caught:
        ask(*said(hello()), garbage, *said(hello(), hello(), summary())[2:])
    assert len(str(caught.value)) < 500
    assert caught.value.exit_code == 14


def test_a_line_past_the_bound_is_an_error() -> None:
    with pytest.raises(AgentGarbled, match="64 MiB"):
        ask(*said(hello()), b"x" * (MAX_LINE_BYTES + 1))


@pytest.mark.parametrize("outcome", [summary(a=1), failure("store.locked")])
def test_what_follows_the_outcome_is_not_waited_for(outcome: dict[str, Any]) -> None:
    def lines() -> Iterator[bytes]:
        yield from said(hello(), outcome)
        raise AssertionError("read on after the end")

    stream = ScriptedStream(lines())
    try:
        call(ScriptedTransport(stream), a_request(), print, command=["agent"])
    except ScratchflowError as error:
        assert error.code == "store.locked"  # noqa: PT017 - one of the two outcomes
    assert stream.closed


def test_an_interrupt_here_closes_the_stream() -> None:
    stream = ScriptedStream(said(hello(), PROGRESS, summary()))

    def interrupted(_: Event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(ScriptedTransport(stream), a_request(), interrupted, command=["agent"])
    assert stream.closed


def test_a_stranger_that_refuses_is_told_in_its_words() -> None:
    with pytest.raises(AgentMismatch, match="it"):
        ask(*said(hello("9.9"), failure("agent.mismatch")))


def test_a_stranger_that_does_not_refuse_is_not_believed() -> None:
    with pytest.raises(AgentGarbled, match=r"9\.9"):
        ask(*said(hello("9.9"), summary(a=1)))


def test_another_protocol_is_a_mismatch() -> None:
    with pytest.raises(AgentMismatch, match=r"scratchflow 9\.9"):
        ask(*said(hello("9.9", v=2)))


def ask_once(far: ScriptedTransport) -> dict[str, Any]:
    return call(far, a_request(), print, command=["agent"])


def no_agent() -> ScriptedStream:
    return ScriptedStream([], returncode=127, stderr=b"sh: not found")


def test_a_missing_agent_is_healed_and_asked_again() -> None:
    far = ScriptedTransport(no_agent(), ScriptedStream(said(hello(), summary(a=1))))
    causes: list[ScratchflowError] = []

    assert call_healed(lambda: ask_once(far), causes.append) == {"a": 1}
    assert len(far.asked) == 2
    assert isinstance(causes[0], AgentMissing)


def test_healing_is_tried_once() -> None:
    far = ScriptedTransport(no_agent(), no_agent())
    with pytest.raises(AgentMissing):
        call_healed(lambda: ask_once(far), lambda _: None)


@pytest.mark.parametrize(
    "lines",
    [
        said(hello(), failure("store.locked")),
        said(hello()),
        said(hello("9.9"), PROGRESS),
    ],
    ids=["error", "cut", "stranger at work"],
)
def test_what_may_have_begun_is_never_asked_twice(lines: list[bytes]) -> None:
    far = ScriptedTransport(ScriptedStream(lines))
    with pytest.raises(ScratchflowError):
        call_healed(lambda: ask_once(far), lambda _: pytest.fail("healed"))
    assert len(far.asked) == 1
