"""The examples of each command can be typed as they stand."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from scratchflow.cli.call import Call
from scratchflow.cli.examples import EXAMPLES, example_lines
from scratchflow.cli.verbs import parse
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
