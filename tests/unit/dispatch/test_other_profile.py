"""What is said of another profile than that of the command can be typed as it stands."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.dispatch.other_profile import failures_of, remarks_of
from scratchflow.model.ages import for_profile, naming
from scratchflow.model.errors.base import EndedBySignal
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.events import Event, Log, Progress, Warned


def _settings(name: str, directory: Path) -> Settings:
    file = directory / "config.toml"
    file.write_text(f'[profiles.{name}]\nlogin = "lb"\n')
    return load_settings(Asked(config=str(file), profile=name), {})


def test_what_fails_begins_with_the_profile_and_its_login_host_unless_it_names_them(
    tmp_path: Path,
) -> None:
    """Both clusters may have a store at that path."""
    both = _settings("b", tmp_path)
    for reason, said in (
        ("full", "profile `b` (`lb`): no space left at `/store`: full"),
        ("of `lb`", "profile `b`: no space left at `/store`: of `lb`"),
        ("of `b`", "no space left at `/store`: of `b`"),
    ):
        with pytest.raises(NoSpace) as caught, failures_of(both), failures_of(both):
            raise NoSpace(path="/store", reason=reason)
        assert str(caught.value) == said


def test_the_next_step_of_a_failure_names_the_profile(tmp_path: Path) -> None:
    with pytest.raises(NoSpace) as caught, failures_of(_settings("big-one", tmp_path)):
        raise NoSpace(path="/store", reason="full")
    hint = caught.value.shown_hint
    assert "`scratchflow -p big-one snapshots prune`" in hint
    assert for_profile(hint) == hint


def test_commands_that_say_which_profile_or_are_for_all_stay() -> None:
    text = "`scratchflow -p x up`; `scratchflow profiles list`"
    assert naming(text, "m") == text


def test_what_ctrl_c_says_names_the_profile(tmp_path: Path) -> None:
    with pytest.raises(EndedBySignal) as caught, failures_of(_settings("m", tmp_path)):
        raise EndedBySignal(signal.SIGINT, "`scratchflow clear` gives it back.")
    assert str(caught.value) == "Cancelled. `scratchflow -p m clear` gives it back."
    assert caught.value.exit_code == 130


def test_what_is_no_failure_of_ours_passes(tmp_path: Path) -> None:
    with pytest.raises(KeyError), failures_of(_settings("m", tmp_path)):
        raise KeyError
    with failures_of(_settings("m", tmp_path)):
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
