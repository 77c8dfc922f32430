"""`create --from DIR` where only this machine has DIR."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.cli.create import _shown
from scratchflow.cli.verbs import parse
from scratchflow.dispatch import cluster
from scratchflow.model.errors.workspace import SourceUnusable
from scratchflow.model.results.create import WorkspaceCreated
from scratchflow.node.bring.pack import unusable


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("{home}/thesis", "`scratchflow create --from laptop:~/thesis --tracked` brings"),
        ("~/my work", "`scratchflow create --from 'laptop:~/my work' --tracked` brings"),
        ("{home}/nowhere", "check the path; `laptop:DIR` names"),
    ],
)
def test_the_line_that_brings_the_directory_of_this_machine_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, hint: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise unusable(Path("/there"), "No such file or directory")

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(cluster, "at_workspace", refuse)
    for name in ("thesis", "my work"):
        (tmp_path / name).mkdir()
    call = parse(["create", "--from", typed.format(home=tmp_path), "--tracked"])
    with pytest.raises(SourceUnusable, match="No such file") as caught:
        call.flow(lambda _: None)
    assert caught.value.shown_hint.startswith(hint)


def test_a_reason_that_is_no_missing_directory_keeps_its_own_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise unusable(tmp_path, "no repository", "without `--tracked` it is brought")

    monkeypatch.setattr(cluster, "at_workspace", refuse)
    with pytest.raises(SourceUnusable) as caught:
        parse(["create", "--from", str(tmp_path), "--tracked"]).flow(lambda _: None)
    assert caught.value.shown_hint == "without `--tracked` it is brought"


def test_it_is_said_that_the_contents_are_in_the_workspace_itself() -> None:
    made = WorkspaceCreated(
        path="/s/work", snapshot="s", source="laptop:~/thesis", files=2, bytes=10
    )
    line, further = parse(["create"]).show(made)
    assert line.startswith("workspace `/s/work` with the contents of `laptop:~/thesis`: 2 files,")
    assert further == "go on in the workspace: its backups do not look at `laptop:~/thesis`"


def test_it_ends_with_how_the_environment_is_used_by_everything_and_by_one_shell() -> None:
    created = WorkspaceCreated(
        path="/s/work",
        snapshot="x",
        env="/s/env",
        activate="source /s/env/bin/activate",
        use_with="scratchflow config set environment.venv env",
        save_with="scratchflow config set backup.also env",
    )
    _, use, save, activate = map(str, _shown(created))
    assert use.startswith("`scratchflow config set environment.venv env` makes `run`, `shell`,")
    assert save.startswith("`scratchflow config set backup.also env` saves it")
    assert activate == "one shell uses it after: source /s/env/bin/activate"
    done = msgspec.structs.replace(created, use_with="", save_with="")
    assert len(list(_shown(done))) == 2
