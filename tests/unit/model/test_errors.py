"""Each error is one class with a stable code, the contract's exit code and a next step."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scratchflow.model.errors import (
    ConfigUnknownKey,
    EndedBySignal,
    ScratchflowError,
    all_errors,
    exit_code_for,
)

ROOT = Path(__file__).resolve().parents[3]

# Contract §4: everything but success, warnings and signals.
CONTRACT_EXIT_CODES = {1, 2, *range(10, 15), *range(20, 27), *range(30, 38), 40, 41}

ERRORS = pytest.mark.parametrize("error", all_errors(), ids=lambda error: error.code)


def test_no_two_errors_share_a_code() -> None:
    counts = Counter(error.code for error in all_errors())
    assert [code for code, count in counts.items() if count > 1] == []


def test_every_exit_code_of_the_contract_has_an_error_and_no_other_does() -> None:
    used = {error.exit_code for error in all_errors() if not issubclass(error, EndedBySignal)}
    assert used == CONTRACT_EXIT_CODES


@ERRORS
def test_every_code_is_documented(error: type[ScratchflowError]) -> None:
    assert f"`{error.code}`" in (ROOT / "docs/reference/errors.md").read_text()
    assert f'"{error.code}"' in (ROOT / "schema/errors.json").read_text()


@ERRORS
def test_every_error_says_what_happened_and_what_to_do(error: type[ScratchflowError]) -> None:
    assert error.message
    assert error.hint
    assert error.__doc__
    assert "\n" not in error.__doc__


@ERRORS
def test_filling_in_all_fields_leaves_no_braces(error: type[ScratchflowError]) -> None:
    if issubclass(error, EndedBySignal):
        shown: ScratchflowError = error(15)
    else:
        shown = error(**dict.fromkeys(error.field_names(), "x"))
    assert "{" not in f"{shown}{shown.shown_hint}"


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
