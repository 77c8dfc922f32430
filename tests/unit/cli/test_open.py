"""`open` starts the editor; `--print`, or an editor that was not started, shows the command and a link."""

from __future__ import annotations

import shlex

import pytest

from scratchflow.cli.open import _shown
from scratchflow.cli.verbs import parse
from scratchflow.flows import open as flow
from scratchflow.model.results.up import EditorOpened

COMMAND = ["code", "--remote", "ssh-remote+a", "/scratch/it's work"]


def editor(*, opened: bool) -> EditorOpened:
    return EditorOpened(path="/w", command=COMMAND, link="vscode://w", opened=opened)


@pytest.mark.parametrize(("line", "runs"), [("open", True), ("open --print", False)])
def test_only_print_starts_nothing(monkeypatch: pytest.MonkeyPatch, line: str, runs: bool) -> None:
    monkeypatch.setattr(flow, "open_workspace", lambda *_, run: editor(opened=run))
    call = parse(line.split())
    assert call.op == "open"
    assert call.flow(lambda _: None).opened is runs


def test_the_command_can_be_pasted_and_the_link_clicked() -> None:
    command, link = _shown(editor(opened=False))
    assert shlex.split(command.partition(": ")[2]) == COMMAND
    assert link.split()[-1] == "vscode://w"


def test_an_editor_that_was_opened_needs_no_words() -> None:
    assert list(_shown(editor(opened=True))) == []
