"""The examples of each command can be typed as they stand, and other people's words lead to commands."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from scratchflow.cli.call import Call
from scratchflow.cli.examples import EXAMPLES, OTHER_WORDS, OTHER_WORDS_OF_JOBS, example_lines
from scratchflow.cli.verbs import VERBS, parse
from tests.unit.cli.test_help import COMMANDS, help_of


@pytest.mark.parametrize("words", COMMANDS)
def test_every_help_ends_with_examples_that_can_be_typed(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("six\n")
    (tmp_path / "config").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("scratchflow.cli.node_request._last", lambda _: {})
    assert 2 <= len(EXAMPLES[words]) <= 3
    for line, _ in EXAMPLES[words]:
        call = parse(shlex.split(line))
        assert isinstance(call, Call)
        assert call.op != "help"
    assert any(line.split()[: len(words.split())] == words.split() for line, _ in EXAMPLES[words])
    text = help_of(words)
    assert text.rstrip().endswith("\n".join(example_lines(words)))
    assert max(map(len, text.splitlines())) <= 80


def test_there_are_no_examples_for_what_does_not_exist() -> None:
    assert EXAMPLES.keys() == set(COMMANDS)


def test_other_words_lead_to_commands_and_hide_none() -> None:
    assert not OTHER_WORDS.keys() & VERBS.keys()
    for command in OTHER_WORDS.values():
        assert command.partition("--")[0].strip() in COMMANDS


def test_other_words_after_jobs_lead_to_commands_and_hide_none() -> None:
    own = {words.removeprefix("jobs ") for words in COMMANDS if words.startswith("jobs ")}
    assert not OTHER_WORDS_OF_JOBS.keys() & own
    for command in OTHER_WORDS_OF_JOBS.values():
        assert command.partition(" -")[0] in COMMANDS
