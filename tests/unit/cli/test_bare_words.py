"""Words that a verb does not take are answered with the line that was probably meant."""

from __future__ import annotations

import shlex

import pytest

from scratchflow.cli.bare_words import meant_by
from scratchflow.cli.verbs import parse
from scratchflow.model.errors.base import UsageInvalid


def refusal(*arguments: str) -> str:
    with pytest.raises(UsageInvalid) as caught:
        parse(arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["create", "/home/nc/thesis"], "create --from laptop:~/thesis"),
        (["create", "/home/nc/my thesis"], "create --from 'laptop:~/my thesis'"),
        (["create", "thesis", "--tracked"], "create --from laptop:thesis --tracked"),
        (["create", "/data/x"], "create --from laptop:/data/x"),
        (["create", "https://host/a.git"], "create --from https://host/a.git"),
        (["-p", "small", "hop", "1"], "-p small hop --node 1"),
        (["hop", "node-9", "--time", "2h"], "hop --node node-9 --time 2h"),
        (["allocate", "gpu"], "allocate --node gpu"),
        (["backup", "before", "the", "meeting"], "backup -m 'before the meeting'"),
        (["backup", "backup"], "backup -m backup"),
        (["restore", "latest", "a.txt", "src"], "restore latest --path a.txt --path src"),
    ],
)
def test_the_line_that_was_meant_is_told_and_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], line: str
) -> None:
    monkeypatch.setenv("HOME", "/home/nc")
    assert refusal(*arguments).endswith(f"; did you mean `scratchflow {line}`?")
    assert parse(shlex.split(line)).op == next(one for one in arguments if one in _VERBS)


_VERBS = ("create", "hop", "allocate", "backup", "restore")


def test_a_name_without_a_number_may_be_another_cluster() -> None:
    said = refusal("hop", "mila")
    assert "`scratchflow hop --node mila`" in said
    assert said.endswith("To another cluster: `scratchflow hop --to mila`")


@pytest.mark.parametrize(
    "arguments",
    [["create", "a", "b"], ["hop", "1", "2"], ["clear", "19"], ["create", "a`b"]],
)
def test_where_nothing_is_known_nothing_is_guessed(arguments: list[str]) -> None:
    assert "did you mean" not in refusal(*arguments)


def test_words_that_do_not_stand_together_are_not_guessed_at() -> None:
    arguments = ["backup", "a", "--full", "b"]
    assert "did you mean" not in refusal(*arguments)
    assert meant_by("unexpected extra arguments (a b)", "backup", arguments, "") == ""
    assert meant_by("unexpected extra argument (a)", "backup", ["backup", "a"], "")
    assert meant_by("no such option: --x", "backup", arguments, "") == ""


@pytest.mark.parametrize("verb", ["jobs show", "jobs rerun"])
def test_a_job_that_is_not_named_is_answered_with_the_word_for_the_newest(verb: str) -> None:
    said = refusal(*verb.split())
    assert f"`scratchflow {verb} last` is the newest one" in said
    assert parse([*verb.split(), "last"]).op
    assert "last" not in refusal("jobs", "diff")
