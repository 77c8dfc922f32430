"""What `--help` says, and what a mistyped word is told."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from scratchflow.cli.verbs import VERBS, parse
from scratchflow.model.errors import UsageInvalid


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
    assert "Print JSON Lines." in help_of("")
    assert "Global options:" not in help_of("")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("statu", "no such command: statu; did you mean `scratchflow status`?"),
        ("stop", "no such command: stop; did you mean `scratchflow clear`?"),
        ("verify", "no such command: verify; did you mean `scratchflow snapshots verify`?"),
        ("profiles ad", "no such command: ad; did you mean `scratchflow profiles add`?"),
        ("snapshots lsit", "no such command: lsit; did you mean `scratchflow snapshots list`?"),
        ("xyzzy", "no such command: xyzzy"),
        ("up --gpu 2", "no such option: --gpu; did you mean `--gpus`?"),
        ("status --jsn", "no such option: --jsn; did you mean `--json`?"),
        ("up --gres gpu:1", "no such option: --gres; `--set slurm.gres=VALUE` does that"),
        ("up --cpus-per-task 1", "; `--set slurm.cpus_per_task=VALUE` does that"),
        ("status --gres x", "no such option: --gres"),
        ("up --xyzzy", "no such option: --xyzzy"),
    ],
)
def test_a_mistyped_word_is_told_with_the_right_one(line: str, said: str) -> None:
    with pytest.raises(UsageInvalid) as caught:
        parse(line.split())
    assert str(caught.value).endswith(said)
