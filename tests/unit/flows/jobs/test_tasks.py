"""The tasks of a job: what flags and a spec say together."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.flows.jobs.tasks import with_tasks
from scratchflow.model.errors.base import ParameterInvalid
from scratchflow.model.events import Event, Log
from scratchflow.model.requests import Submit

CMD = Submit(command=("python", "train.py"))


def tasks(*flags: tuple[str, ...], spec: str = "") -> Submit:
    params, grids, zips = (*flags, (), (), ())[:3]
    return with_tasks(CMD, params, grids, zips, spec, lambda _: None)


def test_without_any_it_is_a_plain_job() -> None:
    assert tasks() == CMD


def test_each_set_is_a_task_and_the_command_stays_a_template() -> None:
    found = tasks((), ("lr=0.1,0.01",), ("seed=1,2", "fold=a,b"))
    assert found.command == CMD.command
    assert [(one["lr"], one["seed"], one["fold"]) for one in found.tasks] == [
        (0.1, 1, "a"),
        (0.01, 1, "a"),
        (0.1, 2, "b"),
        (0.01, 2, "b"),
    ]


def test_a_spec_brings_what_the_command_line_does_not_say(tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(
        'command = "python other.py"\nname = "sweep"\ntags = ["a"]\nmax_parallel = 2\nappend = false\n'
        '[grid]\nlr = [1, 2]\n[variables]\nMODE = "x"\nAPI_KEY = "s3cret"\n'
    )
    said: list[Event] = []
    asked = Submit(tags=("b",), name="mine")
    found = with_tasks(asked, (), (), (), str(file), said.append)
    assert (found.command, found.name) == (("python", "other.py"), "mine")
    assert (found.tags, found.max_parallel, found.append) == (("a", "b"), 2, False)
    assert (found.variables, len(found.tasks)) == ({"MODE": "x"}, 2)
    assert any(isinstance(event, Log) and "API_KEY" in event.message for event in said)


def test_what_is_wrong_is_told_before_anything_is_done() -> None:
    with pytest.raises(ParameterInvalid):
        tasks((), ("lr",))
    asked = Submit(command=("x", "{ls}"))
    with pytest.raises(ParameterInvalid, match="no parameter `ls`"):
        with_tasks(asked, (), ("lr=1,2",), (), "", lambda _: None)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("python3", "t.py"), ["`--lr=0.1`; `{lr}` in the command"]),
        (("python3", "t.py", "{lr}"), []),
    ],
)
def test_it_is_said_how_the_command_gets_its_parameters(
    command: tuple[str, ...], said: list[str]
) -> None:
    heard: list[Event] = []
    with_tasks(Submit(command=command), (), ("lr=0.1,0.01",), (), "", heard.append)
    assert [
        any(isinstance(event, Log) and text in event.message for event in heard) for text in said
    ] == [True] * len(said)
    assert len(heard) == len(said)
