"""`restore --to`: never wider than the umask, and nothing left for ever by a run that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.disk.building import PREFIX, building_beside, sweep_beside
from scratchflow.model.errors.restore import TargetInStore, TargetIsWorkspace
from scratchflow.model.errors.workspace import LimitReached
from scratchflow.model.events import Log
from tests.unit.conftest import Desk
from tests.unit.limited import only_so_many_more


@pytest.fixture(params=[0o022, 0o027, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_elsewhere_nothing_is_wider_than_the_umask(desk: Desk, tmp_path: Path, umask: int) -> None:
    desk.write("work/tool", "x").chmod(0o777)
    desk.work.chmod(0o777)
    (desk.work / "src").chmod(0o775)
    desk.backup()
    desk.restore(to=tmp_path / "all")
    desk.restore(to=tmp_path / "some", paths=("work/tool", "work/src"))
    made = [*tmp_path.glob("all/**/*"), *tmp_path.glob("some/**/*"), tmp_path / "all"]
    assert len(made) > 8
    assert [path for path in made if path.stat().st_mode & umask] == []
    assert (tmp_path / "all/work/tool").stat().st_mode & 0o777 == 0o777 & ~umask


@pytest.mark.parametrize(
    ("place", "is_told"), [("scratch/old", True), ("scratch/work/old", False), ("old", False)]
)
def test_beside_the_workspace_it_is_said_that_no_backup_saves_it(
    desk: Desk, place: str, is_told: bool
) -> None:
    desk.backup()
    desk.restore(to=desk.scratch.parent / place)
    said = [one.message for one in desk.events if isinstance(one, Log)]
    assert any("no backup saves" in one for one in said) == is_told


def test_nothing_is_restored_into_the_store_nor_beside_itself_into_the_workspace(
    desk: Desk,
) -> None:
    newest = desk.backup().snapshot
    for inside in (desk.context.store, desk.place.directory / "new"):
        for paths in ((), ("README",)):
            with pytest.raises(TargetInStore) as caught:
                desk.restore(to=inside, paths=paths, dry_run=not paths)
            assert "remove" not in caught.value.shown_hint
    with pytest.raises(TargetIsWorkspace) as workspace:
        desk.restore(to=desk.work)
    assert f"`scratchflow restore {newest}` without `--to`" in workspace.value.shown_hint
    desk.restore(to=desk.work / "inside", paths=("README",))


def test_in_the_workspace_modes_come_back_as_they_were(desk: Desk, umask: int) -> None:
    desk.write("work/tool", "x").chmod(0o777)
    taken = desk.backup()
    (desk.work / "tool").unlink()
    desk.restore(str(taken.snapshot))
    assert (desk.work / "tool").stat().st_mode & 0o777 == 0o777, oct(umask)


HOLD = """
import pathlib, sys, time
from scratchflow.disk.building import building_beside
with building_beside(pathlib.Path(sys.argv[1]), "feedbeef") as tree:
    (tree / "half").write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_restore_left_beside_the_target_goes_with_the_next_one(
    desk: Desk, tmp_path: Path
) -> None:
    desk.backup()
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, "-c", HOLD, str(out / "x")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (left,) = out.iterdir()
        desk.restore(to=out / "y")
        assert left.is_dir(), "somebody is still at work there"
        process.send_signal(signal.SIGKILL)
    desk.restore(to=out / "z")
    assert sorted(path.name for path in out.iterdir()) == ["y", "z"]


def test_a_directory_of_the_user_with_such_a_name_stays(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    names = [f"{PREFIX}12345678", ".tmp-12345678-x", f"{PREFIX}mine"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "precious").write_text("mine")
    desk.restore(to=tmp_path / "x")
    assert all((tmp_path / name / "precious").exists() for name in names)


def test_another_host_is_given_a_week(tmp_path: Path) -> None:
    with building_beside(tmp_path / "x", "feedbeef") as tree:
        outer = tree.parent
        note = (outer / "restoring.json").read_text()
        outer.rename(tmp_path / "kept")
    (tmp_path / "kept").rename(outer)
    (outer / "restoring.json").write_text(note.replace(os.uname().nodename, "elsewhere"))
    sweep_beside(tmp_path, time.time())
    assert outer.is_dir()
    sweep_beside(tmp_path, time.time() + 8 * 86400)
    assert not outer.exists()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_what_it_may_not_open_is_no_fault_of_the_disk(desk: Desk, tmp_path: Path) -> None:
    desk.write("work/" + "deep/" * 60 + "file", "x")
    desk.backup()
    with only_so_many_more(24), pytest.raises(LimitReached, match="Too many open files"):
        desk.restore(to=tmp_path / "all")
    assert not (tmp_path / "all").exists()
