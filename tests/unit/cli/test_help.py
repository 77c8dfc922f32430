"""What `--help` says, and what a mistyped word is told."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from scratchflow.cli.help import in_one, rows_under
from scratchflow.cli.verbs import VERBS, app, parse
from scratchflow.model.ages import Wording, for_profile
from scratchflow.model.errors.base import UsageInvalid


def words_of(command: Any, words: str) -> Iterator[str]:
    yield words
    for name, verb in getattr(command, "commands", {}).items():
        yield from words_of(verb, f"{words} {name}")


COMMANDS = [
    "",
    *(
        words
        for name, verb in VERBS.items()
        for words in words_of(
            typer.main.get_command(importlib.import_module(verb.module).app), name
        )
    ),
]


def help_of(words: str) -> str:
    call = parse([*words.split(), "--help"])
    text: str = call.flow(lambda _: None).help
    return text


@pytest.mark.parametrize("words", COMMANDS[1:])
def test_the_global_options_are_one_line(words: str) -> None:
    text = help_of(words)
    folded = "Global options: -p, --config, --set, --json, -q, -v; see `scratchflow --help`"
    assert text.count(folded) == 1
    assert "Print JSON Lines" not in text


def test_the_top_lists_the_global_options_in_full() -> None:
    assert "--json" in help_of("")
    assert "Print JSON Lines;" in help_of("")
    assert "Global options:" not in help_of("")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("statu", "no such command: statu; did you mean `scratchflow status`?"),
        ("stop", "no such command: stop; did you mean `scratchflow clear`?"),
        ("verify", "no such command: verify; did you mean `scratchflow snapshots verify`?"),
        ("profiles ad", "no such command: ad; did you mean `scratchflow profiles add`?"),
        ("snapshot list", "did you mean `scratchflow snapshots list`?"),
        ("snapshot -m x", "did you mean `scratchflow backup`?"),
        ("snapshots rm 570643", "did you mean `scratchflow snapshots prune 570643`?"),
        ("snapshots ls", "did you mean `scratchflow snapshots list`?"),
        ("rm 570643", "did you mean `scratchflow snapshots prune ID`?"),
        ("snapshots lsit", "no such command: lsit; did you mean `scratchflow snapshots list`?"),
        ("xyzzy", "no such command: xyzzy"),
        ("results 20", "did you mean `scratchflow jobs outputs`?"),
        ("outputs 20", "did you mean `scratchflow jobs outputs`?"),
        ("fetch 20", "did you mean `scratchflow jobs outputs --to laptop:DIR JOB`?"),
        ("rerun 20", "did you mean `scratchflow jobs rerun`?"),
        ("jobs fetch 20", "did you mean `scratchflow jobs outputs --to laptop:. 20`?"),
        ("jobs cancel 20", "did you mean `scratchflow cancel 20`?"),
        ("jobs logs -f last", "did you mean `scratchflow logs last`?"),
        ("jobs logs", "did you mean `scratchflow logs JOB`?"),
        ("jobs 20_3", "did you mean `scratchflow jobs show 20_3`?"),
        ("jobs shwo 20", "did you mean `scratchflow jobs show`?"),
        ("up --gpu 2", "no such option: --gpu; did you mean `--gpus`?"),
        ("status --jsn", "no such option: --jsn; did you mean `--json`?"),
        ("up --gres gpu:1", "no such option: --gres; `--set slurm.gres=VALUE` does that"),
        ("up --cpus-per-task 1", "; `--set slurm.cpus_per_task=VALUE` does that"),
        ("status --gres x", "no such option: --gres"),
        ("up --xyzzy", "no such option: --xyzzy"),
        (
            "submit --array 1-3 -- true",
            "no such option: --array; `--grid`, `--zip` and `--spec` make an array, a task for each setting",
        ),
    ],
)
def test_a_mistyped_word_is_told_with_the_right_one(line: str, said: str) -> None:
    with pytest.raises(UsageInvalid) as caught:
        parse(line.split())
    assert str(caught.value).endswith(said)


# A terminal of 24 rows, with the prompt that follows.
SCREEN = 23
# They explain more than fits: what is typed is at the end.
LONG = {"", "create", "restore", "setup", "submit"}


@pytest.mark.parametrize("words", sorted({*COMMANDS} - LONG))
def test_a_help_is_seen_as_a_whole_on_a_small_terminal(words: str) -> None:
    assert len(help_of(words).splitlines()) <= SCREEN


def test_the_end_of_the_top_help_shows_every_command() -> None:
    seen = help_of("").splitlines()[-SCREEN:]
    rows = [(names.split(", "), text) for names, text in map(columns, seen)]
    for name in VERBS:
        assert any(name in names and text for names, text in rows), name


def test_the_top_help_is_short() -> None:
    """Less than half of it scrolls off a small terminal."""
    assert len(help_of("").splitlines()) <= 32


def columns(row: str) -> tuple[str, str]:
    names, _, text = row.strip().partition("  ")
    return names, text.strip()


@pytest.mark.parametrize("words", sorted(LONG - {""}))
def test_the_end_of_a_long_help_shows_every_option(words: str) -> None:
    seen = "\n".join(help_of(words).splitlines()[-SCREEN:])
    for name in option_names(words):
        assert name in seen


def option_names(words: str) -> list[str]:
    command: Any = typer.main.get_command(app)
    context = typer.Context(command)
    for word in words.split():
        command = command.get_command(context, word)
    return [max(one.opts, key=len) for one in command.params if one.param_type_name == "option"]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_help_names_every_option_and_breaks_no_command(words: str) -> None:
    text = help_of(words)
    for name in option_names(words):
        assert f"{name} " in text or f"{name}," in text
    assert all(row.count("`") % 2 == 0 for row in text.splitlines())


def test_options_that_share_a_line_say_both() -> None:
    rows = [("--gpus N", "How many GPUs."), ("--cpus N", "How many cores.")]
    assert in_one(rows) == ("--gpus, --cpus N", "How many GPUs; how many cores.")
    rows = [("--time TIME", "How long."), ("--last", "As before.")]
    assert in_one(rows) == ("--time TIME, --last", "How long; as before.")


def test_a_name_that_is_too_long_has_its_text_beneath() -> None:
    rows = [("a", "first"), ("b" * 40, "second text")]
    assert list(rows_under("Options", rows, 48)) == [
        "Options:",
        f"  a{' ' * 29}  first",
        f"  {'b' * 40}",
        f"{' ' * 34}second text",
    ]
    assert list(rows_under("Options", [], 48)) == []


@pytest.mark.parametrize("verb", ["jobs", "snapshots"])
@pytest.mark.parametrize("options", [[], ["-v"], ["-p", "list"]])
def test_what_has_a_list_shows_it_when_no_verb_is_named(verb: str, options: list[str]) -> None:
    said = parse([verb, *options])
    assert said.op.split()[0] == verb
    assert said.op in {"jobs", "snapshots list"}


@pytest.mark.parametrize("words", ["", "restore", "snapshots"])
def test_who_looks_for_a_way_back_is_told_of_the_guide_in_the_store(words: str) -> None:
    assert "HOW-TO-RESTORE.txt" in help_of(words)


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"profiles", "config", "sync"}))
def test_a_hint_with_any_command_names_the_profile(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Wording, "profile", "gpu")
    assert for_profile(f"run `scratchflow {verb}`") == f"run `scratchflow -p gpu {verb}`"


@pytest.mark.parametrize("words", ["run", "shell", "serve jupyter"])
def test_a_directory_to_start_in_need_not_be_in_the_workspace(words: str) -> None:
    assert "from the workspace on, unless absolute" in " ".join(help_of(words).split())


def test_what_logs_follows_of_an_array_is_said() -> None:
    text = " ".join(help_of("logs").split())
    assert "Go on until the task ends" in text
    assert "Of an array, one task is shown and followed" in text
