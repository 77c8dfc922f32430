"""`attach` takes the terminal only when there is one; else it prints a command that can be pasted."""

from __future__ import annotations

import os
import pty
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scratchflow.cli.attach import _shown
from scratchflow.cli.verbs import parse
from scratchflow.flows import attach as flow
from scratchflow.model.results.run import Attached

COMMAND = ["ssh", "-t", "--", "aws", "tmux attach-session -t '=it'\\''s; work'"]


@pytest.fixture
def asked_to_run(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each `attach` was to run its command."""
    runs: list[bool] = []

    def attach(_: object, __: object, *, run: bool) -> Attached:
        runs.append(run)
        return Attached(session="s", host="h", command=COMMAND, ran=run)

    monkeypatch.setattr(flow, "attach", attach)
    return runs


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A real terminal as standard input and output."""
    ours, theirs = pty.openpty()
    with monkeypatch.context() as patch, os.fdopen(theirs) as file:
        patch.setattr(sys, "stdin", file)
        patch.setattr(sys, "stdout", file)
        yield patch
    os.close(ours)


def run(line: str) -> Any:
    return parse(line.split()).flow(lambda _: None)


def test_in_a_terminal_it_is_run_but_never_for_a_program(
    asked_to_run: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal(monkeypatch):
        run("attach")
        run("attach --json")
    assert asked_to_run == [True, False]


def test_a_pipe_at_either_end_is_no_terminal(
    asked_to_run: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stdin", "stdout"):
        with terminal(monkeypatch) as patch, Path(os.devnull).open() as pipe:
            patch.setattr(sys, name, pipe)
            run("attach")
    assert asked_to_run == [False, False]


def test_what_is_printed_can_be_pasted() -> None:
    (line,) = _shown(Attached(session="s", host="h", command=COMMAND))
    assert shlex.split(line) == COMMAND


def test_after_a_session_nothing_is_printed() -> None:
    assert list(_shown(Attached(session="s", host="h", command=COMMAND, ran=True))) == []
