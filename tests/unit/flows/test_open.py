"""`open` starts the editor that is there on the workspace, with every name as it is."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest

from scratchflow.flows import open as module
from scratchflow.flows.open import open_workspace, opened
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.errors.run import EditorMissing
from scratchflow.model.errors.ssh import AliasBehind
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.events import Warned
from scratchflow.model.results.status import AliasShown, StatusShown
from tests.unit.flows.told import ToldCluster, give, job, seen

PATH = "/scratch/ada/it's #1 50% wörk"


def editor(folder: Path, name: str, script: str) -> dict[str, str]:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": str(folder)}


def test_command_and_link_name_alias_and_path(tmp_path: Path) -> None:
    settings = ToldCluster(tmp_path, {}).settings
    shown = opened(settings, PATH, {"PATH": ""}, run=False)
    assert shown.command == ["code", "--remote", "ssh-remote+compile_machine", PATH]
    assert shown.link.startswith("vscode://vscode-remote/ssh-remote+compile_machine/scratch/")
    assert unquote(shown.link).endswith(PATH)
    assert not set(" #'") & set(shown.link)
    assert not shown.opened


def test_on_one_machine_there_is_no_alias(tmp_path: Path) -> None:
    settings = ToldCluster(tmp_path, {}, profile='scheduler = "none"').settings
    shown = opened(settings, "/w", {"PATH": ""}, run=False)
    assert (shown.command, shown.link) == (["code", "/w"], "vscode://file/w")


def test_the_editor_that_is_there_gets_the_path_as_one_word(tmp_path: Path) -> None:
    settings = ToldCluster(tmp_path, {}, profile='scheduler = "none"').settings
    environment = editor(tmp_path, "codium", f'echo "$#:$1" > {tmp_path}/said')
    shown = opened(settings, PATH, environment, run=True)
    assert (shown.command[0], shown.opened) == ("codium", True)
    assert (tmp_path / "said").read_text() == f"1:{PATH}\n"


def test_its_words_do_not_reach_our_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = ToldCluster(tmp_path, {}, profile='scheduler = "none"').settings
    opened(settings, "/w", editor(tmp_path, "code", "echo loud"), run=True)
    assert capfd.readouterr().out == ""


def test_an_editor_that_is_missing_or_fails_is_named(tmp_path: Path) -> None:
    settings = ToldCluster(tmp_path, {}, profile='scheduler = "none"').settings
    missing, failing = {"PATH": ""}, editor(tmp_path, "code", "exit 1")
    for environment, problem in (
        (missing, "there is no command `code` on this machine"),
        (failing, "`code` failed to open the workspace"),
    ):
        with pytest.raises(EditorMissing, match=problem) as caught:
            opened(settings, "/w", environment, run=True)
        assert "`scratchflow shell` opens a shell" in caught.value.shown_hint


def test_without_a_running_node_there_is_nothing_to_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for held, problem in ((None, "there is no allocation"), (job(1, "pending"), "job 1 is still")):
        cluster = give(monkeypatch, module, ToldCluster(tmp_path, {"look": seen(held)}))
        with pytest.raises(AllocationMissing, match=problem):
            open_workspace(cluster.caller, cluster.emit, run=False)
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, {"look": seen(job(1))}))
    assert open_workspace(cluster.caller, cluster.emit, run=False).path == "/scratch/u/work"


def of_job(*, exists: bool | None) -> StatusShown:
    picture = seen(job(1))
    workspace = msgspec.structs.replace(picture.workspace, exists=exists)
    return msgspec.structs.replace(picture, workspace=workspace)


def test_a_folder_that_is_not_there_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"look": of_job(exists=False)}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
    with pytest.raises(WorkspaceMissing, match="/scratch/u/work"):
        open_workspace(cluster.caller, cluster.emit, run=False)


def test_a_folder_that_nobody_has_looked_at_is_opened_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for exists, warnings in ((None, 1), (True, 0)):
        answers = {"look": of_job(exists=exists)}
        cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
        shown = open_workspace(cluster.caller, cluster.emit, run=False)
        assert (shown.exists, shown.host) == (exists, "compile_machine")
        assert len([event for event in cluster.told if isinstance(event, Warned)]) == warnings


@pytest.mark.parametrize(("target", "words"), [(None, "is parked"), ("node-9", "to `node-9`")])
def test_an_alias_that_leads_elsewhere_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str | None, words: str
) -> None:
    alias = AliasShown(name="compile_machine", target=target, parked=target is None)
    monkeypatch.setattr("scratchflow.flows.status.show_alias", lambda _: alias)
    answers = {"look": of_job(exists=True)}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
    with pytest.raises(AliasBehind, match=words):
        open_workspace(cluster.caller, cluster.emit, run=False)
