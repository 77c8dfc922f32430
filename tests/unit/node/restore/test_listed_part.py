"""What a dry run says of a directory is what the restore then does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.restore import TargetDiffers
from tests.unit.conftest import Desk, make_desk


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def part(desk: Desk, tmp_path: Path) -> tuple[Desk, Path]:
    """A part of a snapshot, taken to a directory once, and changed in the workspace since."""
    desk.write("work/out/result.csv", "one")
    desk.write("work/out/deep/log", "long")
    (desk.work / "out/link").symlink_to("result.csv")
    (desk.work / "out/again").hardlink_to(desk.work / "out/result.csv")
    desk.backup()
    desk.restore(paths=("out",), to=tmp_path / "home")
    return desk, tmp_path / "home/out"


def outcome(desk: Desk, target: Path, *, replace: bool, dry_run: bool) -> object:
    try:
        done = desk.restore(paths=("out",), to=target, replace=replace, dry_run=dry_run)
    except ScratchflowError as error:
        return type(error), str(error)
    return done.mode, done.written_files, done.written_bytes, done.place


def _file_in_place_of_directory(out: Path) -> None:
    (out / "deep/log").unlink()
    (out / "deep").rmdir()
    (out / "deep").write_text("a file")


def _directory_in_place_of_file(out: Path) -> None:
    (out / "result.csv").unlink()
    (out / "result.csv").mkdir()


def _link_to_the_same(out: Path) -> None:
    (out / "result.csv").rename(out / "other")
    (out / "result.csv").symlink_to("other")


def _link_to_elsewhere(out: Path) -> None:
    (out / "link").unlink()
    (out / "link").symlink_to("elsewhere")


def _other_times_and_modes(out: Path) -> None:
    os.utime(out / "result.csv", (1, 1))
    (out / "result.csv").chmod(0o600)


CHANGES: dict[str, Callable[[Path], object]] = {
    "none": lambda _: None,
    "a file is gone": lambda out: (out / "result.csv").unlink(),
    "a directory is gone": lambda out: rmtree(out / "deep"),
    "edited": lambda out: (out / "result.csv").write_text("edited"),
    "edited, as long": lambda out: (out / "result.csv").write_text("two"),
    "a file in place of a directory": _file_in_place_of_directory,
    "a directory in place of a file": _directory_in_place_of_file,
    "a link to the same content": _link_to_the_same,
    "a link to elsewhere": _link_to_elsewhere,
    "other times and modes": _other_times_and_modes,
    "more than in the snapshot": lambda out: (out / "mine").write_text("x"),
}


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("is_newer", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_a_dry_run_foretells_what_the_restore_does(
    part: tuple[Desk, Path], change: str, *, is_newer: bool, replace: bool
) -> None:
    desk, out = part
    if is_newer:  # what nobody changed in the directory is brought up to date
        (desk.work / "out/result.csv").write_text("newer")
        desk.backup()
    CHANGES[change](out)
    before = desk.content(out)
    foretold = outcome(desk, out.parent, replace=replace, dry_run=True)
    assert desk.content(out) == before
    assert outcome(desk, out.parent, replace=replace, dry_run=False) == foretold


def test_nothing_is_made_for_a_directory_that_is_not_there(
    part: tuple[Desk, Path], tmp_path: Path
) -> None:
    desk, _ = part
    foretold = outcome(desk, tmp_path / "new", replace=False, dry_run=True)
    assert not (tmp_path / "new").exists()
    assert outcome(desk, tmp_path / "new", replace=False, dry_run=False) == foretold


def test_a_file_in_place_of_the_directory_is_refused_alike(
    part: tuple[Desk, Path], tmp_path: Path
) -> None:
    desk, _ = part
    (tmp_path / "file").write_text("x")
    foretold = outcome(desk, tmp_path / "file", replace=False, dry_run=True)
    assert outcome(desk, tmp_path / "file", replace=False, dry_run=False) == foretold


def test_names_are_those_that_the_restore_gives(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    for path in ("work/env/x", "work/y", "env/x"):
        desk.write(path, path)
    desk.backup()
    desk.restore(paths=("y", "env/x"), to=tmp_path / "both")
    foretold = desk.restore(paths=("y", "env/x"), to=tmp_path / "both", dry_run=True)
    assert foretold.mode == "nothing"
    (tmp_path / "both/work/y").write_text("mine")
    with pytest.raises(TargetDiffers, match="work/y"):
        desk.restore(paths=("y", "env/x"), to=tmp_path / "both", dry_run=True)
    desk.restore(paths=("work/env/x", "y"), to=tmp_path / "own")
    assert desk.restore(paths=("work/env/x", "y"), to=tmp_path / "own", dry_run=True).mode == (
        "nothing"
    )
