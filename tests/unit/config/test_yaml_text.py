"""YAML of other programs is read as it was written; nothing in it is run, guessed or lost."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.config.yaml_text import parse_yaml
from scratchflow.model.errors.config import ImportUnreadable


def test_values_stay_the_text_that_was_written() -> None:
    text = (
        "time: 8:00:00\naccount: no\nversion: 3.10\nday: 2026-11-16\nmem: '5G'\nempty:\ntilde: ~\n"
    )
    assert parse_yaml(text, "f") == {
        "time": "8:00:00",
        "account": "no",
        "version": "3.10",
        "day": "2026-11-16",
        "mem": "5G",
        "empty": None,
        "tilde": None,
    }


def test_lists_tables_and_an_empty_file() -> None:
    assert parse_yaml("a: [1, {b: 2}]\nc:\n- d\n", "f") == {"a": ["1", {"b": "2"}], "c": ["d"]}
    assert parse_yaml("", "f") is None


def test_files_of_other_editors_are_read() -> None:
    assert parse_yaml("\ufeffa: 1\r\nb: |\r\n  x\r\n  y\r\n", "f") == {"a": "1", "b": "x\ny\n"}


def test_what_is_merged_lies_beneath_the_own_keys() -> None:
    text = "x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz: {<<: [*x, *y], a: 9}\n"
    assert parse_yaml(text, "f")["z"] == {"a": "9", "b": "2", "c": "4"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2\n", "the key `a` is there twice (line 2)"),
        ("a: [\n", "(line 2)"),
        ("a: !!python/object/apply:os.system [id]\n", "is an object, which is not read (line 1)"),
        ("a: !mine 1\n", "`!mine` is an object"),
        ("a: &a [*a]\n", "an anchor holds itself"),
        ("a: &a {b: *a}\n", "an anchor holds itself"),
        ("a: {<<: 1}\n", "`<<` merges tables only"),
        ("? [a]\n: 1\n", "the name of a key must be text"),
        ("a: *b\n", "undefined alias"),
        ("a: 1\n---\nb: 2\n", "expected a single document"),
        ("a: \x01\n", "special characters are not allowed"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(ImportUnreadable) as refused:
        parse_yaml(text, "f.yaml")
    assert problem in str(refused.value)
    assert "f.yaml" in str(refused.value)


def test_a_small_file_of_many_aliases_stays_small() -> None:
    lines = ["a0: &a0 {k0: v}"]
    lines += [
        f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k{n}: [*a{n - 1}, *a{n - 1}]}}"
        for n in range(1, 60)
    ]
    assert len(parse_yaml("\n".join(lines), "f")["a59"]) == 60


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ImportUnreadable):
        parse_yaml(text, "f")
