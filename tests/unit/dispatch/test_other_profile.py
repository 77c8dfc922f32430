"""What is said of another profile than that of the command can be typed as it stands."""

from __future__ import annotations

import signal

import pytest

from scratchflow.dispatch.other_profile import failures_of, remarks_of
from scratchflow.model.ages import for_profile, naming
from scratchflow.model.errors.base import EndedBySignal
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.events import Event, Log, Progress, Warned


def test_the_next_step_of_a_failure_names_the_profile() -> None:
    with pytest.raises(NoSpace) as caught, failures_of("big one"):
        raise NoSpace(path="/store", reason="full")
    hint = caught.value.shown_hint
    assert "`scratchflow -p 'big one' snapshots prune`" in hint
    assert for_profile(hint) == hint


def test_commands_that_say_which_profile_or_are_for_all_stay() -> None:
    text = "`scratchflow -p x up`; `scratchflow profiles list`"
    assert naming(text, "m") == text


def test_what_ctrl_c_says_names_the_profile() -> None:
    with pytest.raises(EndedBySignal) as caught, failures_of("m"):
        raise EndedBySignal(signal.SIGINT, "`scratchflow clear` gives it back.")
    assert str(caught.value) == "Cancelled. `scratchflow -p m clear` gives it back."
    assert caught.value.exit_code == 130


def test_what_is_no_failure_of_ours_passes() -> None:
    with pytest.raises(KeyError), failures_of("m"):
        raise KeyError
    with failures_of("m"):
        pass


def test_remarks_name_the_profile_and_other_events_stay() -> None:
    said: list[Event] = []
    emit = remarks_of("m", said.append)
    emit(Warned(code="x", message="`scratchflow restore` brings it"))
    emit(Log(level="info", message="`scratchflow up`"))
    emit(Progress(phase="copy"))
    assert said == [
        Warned(code="x", message="`scratchflow -p m restore` brings it"),
        Log(level="info", message="`scratchflow -p m up`"),
        Progress(phase="copy"),
    ]
