"""A part of a snapshot beside what a directory holds: daily, and without losing anything there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.model.errors.restore import TargetDiffers
from scratchflow.model.results.restore import Restored
from tests.unit.conftest import Desk, make_desk


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def take(desk: Desk, target: Path, *paths: str, replace: bool = False) -> Restored:
    return desk.restore(paths=paths or ("result.csv",), to=target, replace=replace)


@pytest.fixture
def home(desk: Desk, tmp_path: Path) -> Path:
    """A directory that a result was taken to."""
    desk.write("work/result.csv", "one")
    desk.backup()
    take(desk, tmp_path / "home")
    return tmp_path / "home"


def test_the_name_of_the_workspace_is_left_out(desk: Desk, home: Path) -> None:
    assert desk.content(home) == {"result.csv": b"one"}
    take(desk, home, "src", "work/data/big.bin")
    assert sorted(desk.content(home)) == ["data/big.bin", "result.csv", "src/main.py"]
    take(desk, home.with_name("all"), ".")
    assert desk.content(home.with_name("all")) == desk.content()


def test_the_result_names_where_the_files_are(desk: Desk, tmp_path: Path) -> None:
    """`--path results --to results` makes `results/results`, and says so."""
    for path in ("results/a.csv", "results/deep/b.csv", "results/deep/c.csv"):
        desk.write(f"work/{path}", path)
    desk.backup()
    target = tmp_path / "results"
    for paths, place in {
        ("results",): "results",
        ("results/a.csv",): "results/a.csv",
        ("results/deep/*",): "results/deep",
        ("results/deep/b.csv", "src"): "",
        (".",): "",
    }.items():
        planned = desk.restore(paths=paths, to=target, dry_run=True)
        done = take(desk, target, *paths)
        assert {planned.place, done.place} == {str(target / place)}
        assert done.target == str(target)
        assert Path(done.place).exists()


def test_a_whole_snapshot_is_named_where_the_workspace_is(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    done = desk.restore(to=tmp_path / "all")
    assert done.place == str(tmp_path / "all/work")
    assert desk.content(Path(done.place)) == desk.content()


def test_with_a_directory_beside_the_workspace_names_are_from_scratch_down(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    for path in ("work/env/x", "work/y", "env/x"):
        desk.write(path, path)
    desk.backup()
    take(desk, tmp_path / "both", "y", "env/x")
    assert sorted(desk.content(tmp_path / "both")) == ["env/x", "work/y"]
    take(desk, tmp_path / "own", "work/env/x", "y")
    assert sorted(desk.content(tmp_path / "own")) == ["env/x", "y"]
    assert take(desk, tmp_path / "env", "env").place == str(tmp_path / "env/env")
    assert desk.restore(to=tmp_path / "all").place == str(tmp_path / "all")


def test_a_daily_take_home_brings_what_nobody_changed_up_to_date(desk: Desk, home: Path) -> None:
    (home / "notes").write_text("mine")
    assert take(desk, home).mode == "nothing"
    desk.write("work/result.csv", "two")
    desk.backup()
    done = take(desk, home)
    assert (done.mode, done.written_files, done.moved_aside) == ("full", 1, [])
    assert desk.content(home) == {"result.csv": b"two", "notes": b"mine"}


def test_a_file_that_was_changed_here_is_named_and_nothing_is_done(desk: Desk, home: Path) -> None:
    (home / "result.csv").write_text("edited here")
    desk.write("work/other.csv", "new")
    desk.write("work/result.csv", "two")
    desk.backup()
    with pytest.raises(TargetDiffers, match=r"1 path: `result\.csv`") as caught:
        take(desk, home, "*.csv")
    assert "--replace" in caught.value.shown_hint
    assert desk.content(home) == {"result.csv": b"edited here"}
    assert sorted(os.listdir(home)) == ["result.csv"], "nothing is left of the try"


def test_replace_keeps_what_was_there(desk: Desk, home: Path) -> None:
    for content in ("edited here", "edited again"):
        (home / "result.csv").write_text(content)
        take(desk, home, replace=True)
        assert (home / "result.csv").read_text() == "one"
    kept = [path.read_text() for path in sorted(home.glob("result.csv.before-*"))]
    assert kept == ["edited here", "edited again"]


def test_without_a_note_what_is_equal_is_fine_and_the_rest_is_named(
    desk: Desk, home: Path, own_state: Path
) -> None:
    (note,) = (own_state / "scratchflow/taken").iterdir()
    note.write_text("{")
    assert take(desk, home).mode == "nothing"
    note.unlink()
    desk.write("work/result.csv", "two")
    desk.backup()
    with pytest.raises(TargetDiffers):
        take(desk, home)


@pytest.mark.parametrize("kind", ["directory", "symlink", "dangling"])
def test_something_else_in_its_place_differs(desk: Desk, home: Path, kind: str) -> None:
    (home / "result.csv").unlink()
    if kind == "directory":
        (home / "result.csv").mkdir()
    else:
        outside = home.with_name("outside")
        if kind == "symlink":
            outside.write_text("one")
        (home / "result.csv").symlink_to(outside)
    with pytest.raises(TargetDiffers):
        take(desk, home)
    take(desk, home, replace=True)
    assert (home / "result.csv").read_text() == "one"
    assert not (home / "result.csv").is_symlink()


def test_a_directory_that_leads_elsewhere_is_not_followed(desk: Desk, home: Path) -> None:
    outside = home.with_name("outside")
    outside.mkdir()
    (home / "src").symlink_to(outside)
    with pytest.raises(TargetDiffers):
        take(desk, home, "src")
    assert list(outside.iterdir()) == []


def test_a_read_only_directory_is_added_to_where_that_is_allowed(desk: Desk, home: Path) -> None:
    desk.write("work/ro/one")
    (desk.work / "ro").chmod(0o555)
    desk.backup()
    take(desk, home, "ro")
    (desk.work / "ro").chmod(0o755)
    desk.write("work/ro/two")
    (desk.work / "ro").chmod(0o555)
    desk.backup()
    (home / "ro").chmod(0o755)
    take(desk, home, "ro")
    assert sorted(os.listdir(home / "ro")) == ["one", "two"]
    (desk.work / "ro").chmod(0o755)


def test_a_file_that_may_not_be_read_comes_once(desk: Desk, home: Path) -> None:
    closed = desk.write("work/closed", "secret")
    desk.backup()
    closed.chmod(0o200)
    desk.backup()
    take(desk, home, "closed")
    (home / "closed").chmod(0)
    with pytest.raises(TargetDiffers):
        take(desk, home, "closed")
