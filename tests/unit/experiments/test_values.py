"""A value of a parameter means what its text says, and is written the same way again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.experiments.values import (
    as_json,
    read_value,
    split_values,
    typed,
    write_value,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = TEXT | NUMBERS | st.booleans() | st.none()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("2.0", 2.0),
        ("true", True),
        ("false", False),
        ("null", None),
    ],
)
def test_what_json_calls_a_value_is_that_value(text: str, value: object) -> None:
    read = read_value(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "adam",
        "True",
        "None",
        "nan",
        "inf",
        "007",
        "+1",
        ".5",
        "1.",
        "1_000",
        "0x10",
        "-0",
        "1,2",
    ],
)
def test_everything_else_is_text_as_typed(text: str) -> None:
    assert read_value(text) == text
    assert isinstance(read_value(text), str)


@pytest.mark.parametrize("text", ["1.10", "0.50", "1e999", "0.12345678901234567890123", "9" * 5000])
def test_a_number_that_would_be_written_otherwise_stays_text(text: str) -> None:
    assert read_value(text) == text


def test_quotes_make_text_of_anything() -> None:
    assert read_value('"1"') == "1"
    assert read_value('"true"') == "true"
    assert read_value('"a, \\"b\\""') == 'a, "b"'


@pytest.mark.parametrize("text", ['"a', '"a"b', '"'])
def test_quotes_that_do_not_end_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the quotes"):
        read_value(text)


def test_commas_separate_except_in_quotes() -> None:
    assert split_values("a,b,c") == ["a", "b", "c"]
    assert split_values('"a,b",c') == ['"a,b"', "c"]
    assert split_values('"a\\",b",c') == ['"a\\",b"', "c"]
    assert split_values('5" disk,c') == ['5" disk', "c"]
    assert split_values("") == [""]


def test_a_command_sees_text_as_it_is_and_all_else_as_json() -> None:
    written = [write_value(one) for one in ("a b", 0.001, True, None, [1, "x"], {"a": 1})]
    assert written == ["a b", "0.001", "true", "null", '[1,"x"]', '{"a":1}']


@given(VALUES)
def test_a_typed_value_reads_back_as_itself(value: object) -> None:
    read = read_value(typed(value)) if not is_long(value) else value
    assert as_json(read) == as_json(value)


@pytest.mark.slow
@given(st.lists(VALUES, min_size=1))
def test_typed_values_with_commas_between_are_split_where_they_were_joined(
    values: list[object],
) -> None:
    assert split_values(",".join(map(typed, values))) == [typed(one) for one in values]


@given(VALUES)
def test_what_a_command_sees_of_a_value_is_stable(value: object) -> None:
    once = write_value(read_value(typed(value)))
    assert once == write_value(value)
    assert json.loads(as_json(value)) == value


def is_long(value: object) -> bool:
    return isinstance(value, int) and len(str(abs(value))) > 3000
