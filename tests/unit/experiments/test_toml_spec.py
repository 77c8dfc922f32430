"""A spec in TOML says what flags say; whatever it cannot mean is refused with its key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scratchflow.experiments.sets import parameter_sets
from scratchflow.experiments.spec import Spec
from scratchflow.experiments.toml_spec import read_toml_spec
from scratchflow.experiments.values import as_json, typed
from scratchflow.model.errors.base import ParameterInvalid, SpecInvalid

WHOLE = """
command = "python train.py --out 'runs {lr}'"
name = "rates"
tags = ["sweep", "a b"]
max_parallel = 4
append = false

[params]
epochs = 10
[grid]
lr = [0.1, 0.01]
[zip]
seed = [1, 2]
fold = ["a", "b"]
[variables]
MODE = "offline"
MY_TOKEN = "hush"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "spec.toml"


def read(file: Path, text: str) -> Spec:
    file.write_text(text)
    return read_toml_spec(file)


def test_a_whole_spec(file: Path) -> None:
    spec = read(file, WHOLE)
    assert spec.command == ["python", "train.py", "--out", "runs {lr}"]
    assert (spec.name, spec.tags, spec.max_parallel) == ("rates", ["sweep", "a b"], 4)
    assert (spec.append, spec.variables) == (False, {"MODE": "offline"})
    assert [one.key for one in spec.remarks] == ["variables.MY_TOKEN"]
    assert spec.sets == parameter_sets(["epochs=10"], ["lr=0.1,0.01"], ["seed=1,2", "fold=a,b"])


def test_an_empty_spec_is_one_task(file: Path) -> None:
    spec = read(file, "")
    assert (spec.sets, spec.command, spec.append) == ([{}], [], True)


def test_parts_follow_each_other_and_may_change_what_is_common(file: Path) -> None:
    spec = read(
        file,
        "[params]\nepochs = 1\n"
        "[[part]]\ngrid = { lr = [1, 2] }\n"
        "[[part]]\nparams = { epochs = 5 }\nzip = { lr = [3, 4], k = ['a', 'b'] }\n",
    )
    assert spec.sets == [
        {"epochs": 1, "lr": 1},
        {"epochs": 1, "lr": 2},
        {"epochs": 5, "lr": 3, "k": "a"},
        {"epochs": 5, "lr": 4, "k": "b"},
    ]
    assert spec.remarks == []


def test_what_two_parts_have_in_common_runs_once_and_is_told(file: Path) -> None:
    spec = read(file, "[[part]]\ngrid = {a = [1, 2]}\n[[part]]\ngrid = {a = [2, 3]}\n")
    assert spec.sets == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert "1 set of parameters came twice" in spec.remarks[0].fate


def test_lists_and_tables_are_values_too(file: Path) -> None:
    spec = read(
        file, "[params]\nlayers = [64, 64]\nopt = {name = 'adam'}\n[grid]\nx = [[1], [2]]\n"
    )
    assert spec.sets[1] == {"layers": [64, 64], "opt": {"name": "adam"}, "x": [2]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gird = {a = [1]}", "`gird`: there is no such key; did you mean `grid`?"),
        ("[[part]]\nparms = {}", "`part 1: parms`: there is no such key; did you mean `params`?"),
        ("tags = 'a'", "`tags`: expected a list of texts"),
        ("name = 5", "`name`: expected text"),
        ("append = 1", "`append`: expected true or false"),
        ("max_parallel = true", "`max_parallel`: expected a whole number"),
        ("max_parallel = 0", "`max_parallel`: expected 1 or more"),
        ('command = "it\'s"', "`command`: no closing quotation"),
        ("command = [1]", "`command`: expected a list of texts"),
        ("[grid]\na = 1", "`grid.a`: expected a list of values"),
        ("[grid]\na = []", "`grid.a`: the list has no values"),
        ("[params]\na = 1\n[grid]\na = [1]", "`a`: it is given twice"),
        ("[params]\na = 2026-11-16", "`params.a`: write a date or a time in quotes"),
        ("[grid]\na = [nan]", "`grid.a`: nan is no number that JSON knows"),
        ("[variables]\n'a b' = 'x'", "`variables.a b`: this is not a variable name"),
        ("[variables]\na = 1", "`variables.a`: expected text"),
        ("[grid]\na = [1]\n[[part]]", "`grid`: beside `[[part]]` it belongs into a part"),
        ("part = [1]", "`part`: expected `[[part]]`"),
        ("a = \n", "(at line 1, column 5)"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_key(file: Path, text: str, words: str) -> None:
    with pytest.raises(SpecInvalid) as refused:
        read(file, text)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[zip]\na = [1, 2]\nb = [1]", "`a` has 2, `b` has 1"),
        ("[grid]\na = [1, 1]", "1 is there twice"),
        ("[params]\n'a b' = 1", "a parameter's name has"),
        ('[params]\na = "\\u0000"', "without the character NUL"),
    ],
)
def test_the_rules_of_the_flags_hold(file: Path, text: str, words: str) -> None:
    with pytest.raises(ParameterInvalid) as refused:
        read(file, text)
    assert words in str(refused.value)


def test_a_file_that_cannot_be_read_is_told(file: Path) -> None:
    with pytest.raises(SpecInvalid, match="No such file"):
        read_toml_spec(file)
    file.write_bytes(b"\xff")
    with pytest.raises(SpecInvalid, match="not UTF-8"):
        read_toml_spec(file)
    file.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(SpecInvalid, match="larger than 1 MiB"):
        read_toml_spec(file)
    file.write_text("a = " + "[" * 5000)
    with pytest.raises(SpecInvalid, match=r"nested|Unclosed|Invalid"):
        read_toml_spec(file)


PAGE = (Path(__file__).resolve().parents[3] / "docs/experiments.md").read_text()


def test_the_examples_of_the_page_are_specs(file: Path) -> None:
    whole, parts = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(read(file, whole).sets) == 4
    assert len(read(file, parts).sets) == 3


def test_the_order_that_the_page_tells_is_the_order() -> None:
    told = re.findall(r"^\| \d \| (\d) \| (\w) \| ([0-9.]+) \|$", PAGE, re.MULTILINE)
    found = parameter_sets(grids=["lr=0.1,0.01"], zips=["seed=1,2", "fold=a,b"])
    assert told == [tuple(map(str, one.values())) for one in found]


VALUE = (
    st.integers(-9, 9) | st.floats(-1, 1) | st.booleans() | st.sampled_from(["x", "a,b", '"', "1"])
)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
GRIDS = st.dictionaries(
    NAMES, st.lists(VALUE, min_size=1, max_size=3, unique_by=as_json), max_size=3
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(GRIDS)
def test_a_grid_in_a_file_gives_what_the_flags_give(
    file: Path, grid: dict[str, list[object]]
) -> None:
    lines = [f"{name} = {as_json(values)}" for name, values in grid.items()]
    flags = [f"{name}={','.join(map(typed, values))}" for name, values in grid.items()]
    spec = read(file, "\n".join(["[grid]", *lines]))
    assert as_json(spec.sets) == as_json(parameter_sets(grids=flags))
