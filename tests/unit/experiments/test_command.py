"""Each task's command has its own parameters, as whole words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.experiments.command import command_for, kept_as_is, parameters_file
from scratchflow.model.errors.base import ParameterInvalid


def test_parameters_that_the_command_does_not_name_follow_it() -> None:
    command = command_for(["python", "train.py", "--out=runs/{lr}"], {"lr": 0.1, "seed": 3})
    assert command == ["python", "train.py", "--out=runs/0.1", "--seed=3"]


def test_a_value_stays_one_word_whatever_is_in_it() -> None:
    value = "a b; rm -rf $HOME '\"\n"
    assert command_for(["x", "{k}"], {"k": value}) == ["x", value]
    assert command_for(["x"], {"k": value}) == ["x", f"--k={value}"]


def test_a_value_with_braces_is_not_replaced_again() -> None:
    assert command_for(["{a}", "{b}"], {"a": "{b}", "b": "{{"}) == ["{b}", "{{"]


def test_two_braces_are_one_and_other_braces_stay() -> None:
    assert command_for(["{{k}", "{k}"], {"k": 1}) == ["{k}", "1"]
    words = ["{print $1}", '{"a": {"b": 1}}', "}}", "{}"]
    assert command_for(words, {"k": 1}, append=False) == words


def test_without_parameters_the_command_stays_as_it_is() -> None:
    words = ["bash", "-c", "echo ${HOME} {{x}}"]
    assert command_for(words, {}) == words


def test_a_name_that_is_no_parameter_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ParameterInvalid, match=r"did you mean `\{learning_rate\}`") as refused:
        command_for(["--lr={learningrate}"], {"learning_rate": 1})
    assert "`{{learningrate}` stands for the braces" in str(refused.value)


def test_nothing_is_appended_where_the_command_reads_the_file() -> None:
    assert command_for(["run"], {"k": 1}, append=False) == ["run"]


@given(st.text())
def test_a_word_that_is_kept_comes_out_unchanged(word: str) -> None:
    assert command_for([kept_as_is(word)], {"k": 1}, append=False) == [word]


def test_the_file_holds_the_parameters_as_json_in_their_order() -> None:
    content = parameters_file({"b": 1.5, "a": [None, True], "ü": "x\n"})
    assert content.endswith(b"}\n")
    assert list(json.loads(content).items()) == [("b", 1.5), ("a", [None, True]), ("ü", "x\n")]
