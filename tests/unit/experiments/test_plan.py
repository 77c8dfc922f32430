"""The tasks of a job: flags win over the spec, and every command is made before anything is submitted."""

from __future__ import annotations

import pytest

from scratchflow.experiments.plan import Task, plan_tasks
from scratchflow.experiments.spec import Spec
from scratchflow.model.errors.base import ParameterInvalid

SPEC = Spec(path="f", sets=[{"a": 1}, {"a": 2}], command=["run", "{a}"], append=False)


def test_without_parameters_there_is_one_task_and_its_command_stays() -> None:
    assert plan_tasks(["echo", "{x}"]) == [Task({}, ["echo", "{x}"])]


def test_flags_give_a_task_for_each_set() -> None:
    tasks = plan_tasks(["t"], params=["e=1"], grids=["lr=0.1,0.2"])
    assert [task.command for task in tasks] == [
        ["t", "--e=1", "--lr=0.1"],
        ["t", "--e=1", "--lr=0.2"],
    ]


def test_a_spec_gives_sets_and_command() -> None:
    assert plan_tasks([], spec=SPEC) == [Task({"a": 1}, ["run", "1"]), Task({"a": 2}, ["run", "2"])]


def test_the_command_line_wins_over_the_spec() -> None:
    tasks = plan_tasks(["other", "{b}"], zips=["b=x,y"], params=["a=9"], spec=SPEC)
    assert tasks == [
        Task({"a": 9, "b": "x"}, ["other", "x"]),
        Task({"a": 9, "b": "y"}, ["other", "y"]),
    ]


def test_equal_sets_of_a_spec_stay_when_no_flag_is_given() -> None:
    twice = Spec(path="f", sets=[{"a": 1}, {"a": 1}], command=["x"])
    assert len(plan_tasks([], spec=twice)) == 2


def test_no_command_at_all_is_refused() -> None:
    with pytest.raises(ParameterInvalid, match="there is no command"):
        plan_tasks([], grids=["a=1,2"])


def test_a_place_that_one_set_cannot_fill_is_refused_before_anything_runs() -> None:
    spec = Spec(path="f", sets=[{"a": 1}, {"b": 2}], command=["run", "{a}"])
    with pytest.raises(ParameterInvalid, match="there is no parameter `a`"):
        plan_tasks([], spec=spec)


def test_a_program_without_a_name_is_refused_before_anything_runs() -> None:
    with pytest.raises(ParameterInvalid, match="would be empty"):
        plan_tasks(["{program}"], grids=["program=true,"])
    assert plan_tasks(["true", "{word}"], params=["word="])[0].command == ["true", ""]
