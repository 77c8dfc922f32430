"""`--path` means a path of the workspace, and still one from scratch down."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.model.errors.snapshots import PathMissing
from scratchflow.model.requests import Export, Restore, Show
from scratchflow.node.history.history import show_snapshot
from scratchflow.node.restore.restore import requested_restore
from scratchflow.node.transfer.transfer import requested_export
from tests.unit.conftest import Desk


@pytest.fixture
def saved(desk: Desk) -> Desk:
    for path in ("work/src/main.py", "work/src/b/util.py", "work/notes", "work/work/notes"):
        desk.write(path, path)
    desk.backup()
    return desk


@pytest.mark.parametrize(
    ("pattern", "restored"),
    [
        ("src/main.py", ["src/main.py"]),
        ("./src/main.py", ["src/main.py"]),
        ("src", ["src/b/util.py", "src/main.py"]),
        ("src/*.py", ["src/b/util.py", "src/main.py"]),
        ("work/src/main.py", ["src/main.py"]),
        ("work/notes", ["notes"]),  # from scratch down comes first
        ("work/work/notes", ["work/notes"]),
    ],
)
def test_what_a_path_means(saved: Desk, tmp_path: Path, pattern: str, restored: list[str]) -> None:
    target = tmp_path / "out"
    saved.restore(paths=(pattern,), to=target)
    files = [path for path in target.rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(target)) for path in files) == restored


def test_a_whole_path_of_this_machine_is_one_of_its_workspace(saved: Desk, tmp_path: Path) -> None:
    saved.restore(paths=(str(saved.work / "src/main.py"),), to=tmp_path / "out")
    assert (tmp_path / "out/src/main.py").read_text() == "work/src/main.py"


@pytest.mark.parametrize("pattern", ["main.py", "../src", "/src/none", "*.c"])
def test_what_is_not_there_is_told(saved: Desk, tmp_path: Path, pattern: str) -> None:
    with pytest.raises(PathMissing) as caught:
        saved.restore(paths=(pattern,), to=tmp_path / "out")
    assert "relative to the workspace" in caught.value.shown_hint


def test_show_takes_the_same_paths(saved: Desk) -> None:
    def shown(path: str) -> list[str | None]:
        asked = Show(path=path)
        return [one.path for one in show_snapshot(saved.context, saved.notify, asked).entries]

    assert shown("src/main.py") == shown("work/src/main.py") == ["work/src/main.py"]
    assert "work/src" in shown(".")
    assert shown("") == ["work"]


def test_a_tilde_is_the_home_of_the_machine_that_restores(
    saved: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    restored = requested_restore(saved.context, saved.notify, Restore(to="~/old"))
    assert restored.target == str(tmp_path / "old")
    assert (tmp_path / "old/work/notes").exists()
    exported = requested_export(saved.context, saved.notify, Export(file="~/x.tar.lz4"))
    assert exported.path == str(tmp_path / "x.tar.lz4")
