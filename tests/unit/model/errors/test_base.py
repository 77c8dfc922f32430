"""An error is filled in where it is raised; signals and warnings decide the exit code."""

from __future__ import annotations

import pytest

from scratchflow.model.errors.base import EndedBySignal, exit_code_for
from scratchflow.model.errors.config import ConfigUnknownKey


def test_a_forgotten_field_is_noticed_at_the_raise() -> None:
    with pytest.raises(KeyError):
        ConfigUnknownKey(key="x")


def test_a_signal_exits_with_128_and_its_number() -> None:
    assert EndedBySignal(15).exit_code == 143
    assert str(EndedBySignal(15)) == "ended by SIGTERM"


def test_hostile_fields_are_escaped_once() -> None:
    error = ConfigUnknownKey(key="a\x1b[2J{origin}", origin="[/]", suggestion="")
    assert str(error) == r'unknown key "a\x1b[2J{origin}" in [/]'


@pytest.mark.parametrize(
    ("codes", "exit_code"),
    [
        (set(), 0),
        ({"files.changed"}, 101),
        ({"files.vanished"}, 102),
        ({"files.unreadable"}, 103),
        ({"files.changed", "files.vanished"}, 100),
        ({"files.skipped"}, 0),
        ({"files.skipped", "files.changed"}, 101),
    ],
)
def test_warnings_decide_the_exit_code_of_a_finished_command(
    codes: set[str], exit_code: int
) -> None:
    assert exit_code_for(codes) == exit_code
