"""Grids give every combination once, in the order that docs/experiments.md tells."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.experiments.sets import MOST_SETS, combinations, combined, parameter_sets
from scratchflow.experiments.values import as_json, typed
from scratchflow.model.errors.base import ParameterInvalid

VALUE = (
    st.integers(-9, 9)
    | st.floats(-1, 1)
    | st.booleans()
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
)
VALUES = st.lists(VALUE, min_size=1, max_size=4, unique_by=as_json)
NAMES = st.from_regex(r"[a-z][a-z0-9_.]{0,5}", fullmatch=True)
GRIDS = st.dictionaries(NAMES, VALUES, max_size=4)


def flags(grid: dict[str, list[object]]) -> list[str]:
    return [f"{name}={','.join(map(typed, values))}" for name, values in grid.items()]


def test_no_flags_are_one_task_without_parameters() -> None:
    assert parameter_sets() == [{}]


def test_a_grid_is_every_combination_and_the_last_flag_changes_fastest() -> None:
    assert parameter_sets(grids=["lr=0.1,0.01", "opt=adam,sgd"]) == [
        {"lr": 0.1, "opt": "adam"},
        {"lr": 0.1, "opt": "sgd"},
        {"lr": 0.01, "opt": "adam"},
        {"lr": 0.01, "opt": "sgd"},
    ]


def test_zipped_values_go_side_by_side_and_change_slowest() -> None:
    found = parameter_sets(["epochs=3"], ["lr=0.1,0.01"], ["seed=1,2", "fold=a,b"])
    assert [list(one.items()) for one in found] == [
        [("epochs", 3), ("seed", 1), ("fold", "a"), ("lr", 0.1)],
        [("epochs", 3), ("seed", 1), ("fold", "a"), ("lr", 0.01)],
        [("epochs", 3), ("seed", 2), ("fold", "b"), ("lr", 0.1)],
        [("epochs", 3), ("seed", 2), ("fold", "b"), ("lr", 0.01)],
    ]


@pytest.mark.slow
@given(GRIDS)
def test_a_grid_has_as_many_sets_as_its_lengths_multiply_to_and_none_twice(
    grid: dict[str, list[object]],
) -> None:
    found = parameter_sets(grids=flags(grid))
    assert len(found) == math.prod(map(len, grid.values()))
    assert len({as_json(one) for one in found}) == len(found)


@pytest.mark.slow
@given(GRIDS)
def test_the_sets_of_a_grid_are_in_the_order_of_its_values(grid: dict[str, list[object]]) -> None:
    places = [
        [[as_json(value) for value in grid[name]].index(as_json(one[name])) for name in grid]
        for one in parameter_sets(grids=flags(grid))
    ]
    assert places == sorted(places)


@pytest.mark.slow
@given(GRIDS)
def test_values_of_a_grid_come_out_as_they_were_typed(grid: dict[str, list[object]]) -> None:
    found = parameter_sets(grids=flags(grid))
    for name, values in grid.items():
        assert {as_json(one[name]) for one in found} == {as_json(value) for value in values}
        assert all(list(one) == list(grid) for one in found)


@given(st.lists(st.tuples(VALUE, VALUE), min_size=1, max_size=5, unique_by=as_json))
def test_zipped_rows_come_out_as_they_were_typed(rows: list[tuple[object, object]]) -> None:
    first, second = ([typed(row[side]) for row in rows] for side in (0, 1))
    found = parameter_sets(zips=[f"a={','.join(first)}", f"b={','.join(second)}"])
    assert [as_json([one["a"], one["b"]]) for one in found] == [as_json(row) for row in rows]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"zips": ["a=1,2", "b=1"]}, "`a` has 2, `b` has 1"),
        (
            {"params": ["a=1"], "grids": ["a=1,2"]},
            "`--grid a=1,2`: `a` is given twice, before as `--param a=1`",
        ),
        ({"grids": ["a=1", "a=2"]}, "`--grid a=2`: `a` is given twice, before as `--grid a=1`"),
        ({"grids": ["a=1,1"]}, "1 is there twice"),
        ({"zips": ["a=1,1", "b=x,x"]}, '1, "x" is there twice'),
        ({"params": ["a"]}, "expected NAME=VALUE"),
        ({"params": ["-a=1"]}, "a parameter's name has"),
        ({"params": ["a b=1"]}, "a parameter's name has"),
        ({"params": ['a="x']}, "the quotes"),
        ({"params": ["a=\0"]}, "without the character NUL"),
        ({"params": ['a="\\u0000"']}, "without the character NUL"),
        ({"params": ["a=\udcff"]}, "UTF-8"),
        ({"params": ['a="\\ud800"']}, "UTF-8"),
    ],
)
def test_what_cannot_be_meant_is_refused(asked: dict[str, list[str]], words: str) -> None:
    with pytest.raises(ParameterInvalid, match=re.escape(words)):
        parameter_sets(**asked)


def test_equal_numbers_of_different_kinds_are_different_values() -> None:
    assert len(parameter_sets(grids=["a=1,1.0,true"])) == 3


def test_too_many_combinations_are_refused_before_they_are_made() -> None:
    with pytest.raises(ParameterInvalid, match=f"more than {MOST_SETS}"):
        combinations({}, {name: range(1000) for name in "abcdef"}, {})


def test_flags_win_over_a_spec_and_leave_no_two_equal_tasks() -> None:
    spec = [{"lr": 0.1, "seed": 1}, {"lr": 0.2, "seed": 1}]
    assert combined(spec, [{"seed": 7}]) == [{"lr": 0.1, "seed": 7}, {"lr": 0.2, "seed": 7}]
    assert combined(spec, [{"lr": 0.5}]) == [{"lr": 0.5, "seed": 1}]
    assert len(combined(spec, parameter_sets(grids=["fold=a,b,c"]))) == 6
