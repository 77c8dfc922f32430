"""An error is filled in where it is raised; signals and warnings decide the exit code."""

from __future__ import annotations

import shlex

import pytest

from scratchflow.model.errors.base import EndedBySignal, exit_code_for
from scratchflow.model.errors.config import ConfigUnknownKey
from scratchflow.model.errors.store import StoreLost, StoreReplaced


def test_a_forgotten_field_is_noticed_at_the_raise() -> None:
    with pytest.raises(KeyError):
        ConfigUnknownKey(key="x")


def test_a_signal_exits_with_128_and_its_number() -> None:
    assert EndedBySignal(15).exit_code == 143
    assert str(EndedBySignal(15)) == "ended by SIGTERM"


def test_hostile_fields_are_escaped_once() -> None:
    error = ConfigUnknownKey(key="a\x1b[2J{origin}", origin="[/]", suggestion="")
    assert str(error) == r'unknown key "a\x1b[2J{origin}" in [/]'


def test_a_path_in_a_command_is_one_word_for_a_shell() -> None:
    error = StoreLost(
        store="/h/my store; touch PWN/it's",
        state="is empty",
        host="login",
        note="/h/a b",
        from_mirror="",
    )
    commands = error.shown_hint.split("`")[1::2]
    assert shlex.split(commands[0]) == ["findmnt", "-T", "/h/my store; touch PWN/it's"]
    assert shlex.split(commands[1]) == ["rm", "/h/a b"]
    assert "`/h/my store; touch PWN/it's`" in str(error)


def test_what_makes_room_for_another_store_is_typed_as_it_stands() -> None:
    words = StoreReplaced.keeping("/s/my work", "X", "n1", is_new=False).split("`")[1]
    assert shlex.split(words)[-3:] == ["mv", "/s/my work", "/s/my work.before-X"]


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
