"""A restore never writes or deletes beneath a mount point."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.root.conftest import Machine


@pytest.fixture
def home(machine: Machine) -> Path:
    """A home that the tests mount into the workspace, from the same device."""
    home = machine.directory / "home"
    home.mkdir()
    (home / "precious").write_text("only here")
    return home


def bind(source: Path, target: Path) -> list[str]:
    return [f"mkdir -p {target}", f"mount --bind {source} {target}"]


def test_a_home_mounted_into_the_workspace_survives_going_back(
    machine: Machine, home: Path
) -> None:
    first = machine.backup()
    machine.write("work/README", "second")
    ended = machine.run("restore", first, before=bind(home, machine.work / "home"))
    assert (home / "precious").read_text() == "only here"
    assert ended.exit_code in {0, 100}, ended.last
    assert (machine.work / "README").read_text() == "hello"
    assert any(
        line["type"] == "warning" and line.get("path") == "work/home" for line in ended.lines
    )


def test_a_mount_beneath_a_directory_that_the_snapshot_lacks_survives(
    machine: Machine, home: Path
) -> None:
    first = machine.backup()
    machine.write("work/new/file", "new")
    machine.backup()
    ended = machine.run("restore", first, before=bind(home, machine.work / "new/deep/home"))
    assert ended.exit_code in {0, 100}, ended.last
    assert (home / "precious").read_text() == "only here"
    assert not (machine.work / "new/file").exists()


def test_a_snapshot_with_content_where_a_mount_is_now_is_refused_untouched(
    machine: Machine, home: Path
) -> None:
    machine.write("work/home/precious", "as saved")
    first = machine.backup()
    machine.write("work/README", "second")
    machine.write("work/home/precious", "changed")
    machine.backup()
    ended = machine.run("restore", first, before=bind(home, machine.work / "home"))
    assert (ended.exit_code, ended.last["code"]) == (35, "restore.mount")
    assert str(machine.work / "home") in ended.last["message"]
    assert (home / "precious").read_text() == "only here"
    assert (machine.work / "README").read_text() == "second"
    assert machine.run("backup").exit_code == 0


def test_a_path_beneath_a_mount_is_refused(machine: Machine, home: Path) -> None:
    machine.write("work/home/precious", "as saved")
    machine.backup()
    ended = machine.run(
        "restore", "--path", "work/home/precious", before=bind(home, machine.work / "home")
    )
    assert (ended.exit_code, ended.last["code"]) == (35, "restore.mount")
    assert (home / "precious").read_text() == "only here"


def test_a_workspace_that_holds_a_mount_is_not_moved_aside(machine: Machine, home: Path) -> None:
    machine.backup()
    shutil.rmtree(machine.scratch / ".scratchflow")
    ended = machine.run("restore", "--replace", before=bind(home, machine.work / "home"))
    assert (ended.exit_code, ended.last["code"]) == (35, "restore.mount")
    assert (home / "precious").read_text() == "only here"
    assert (machine.work / "README").read_text() == "hello"
    assert machine.run("backup").exit_code == 0


def test_what_a_killed_run_left_is_not_removed_through_a_mount(
    machine: Machine, home: Path
) -> None:
    machine.backup()
    left = machine.scratch / ".scratchflow/work/incoming-1234"
    machine.run("backup", before=bind(home, left / "work"))
    assert (home / "precious").read_text() == "only here"


def test_a_workspace_that_is_a_mount_point_is_filled_in_place(machine: Machine) -> None:
    machine.backup()
    shutil.rmtree(machine.scratch)
    disk = machine.directory / "disk"
    disk.mkdir()
    ended = machine.run("restore", before=bind(disk, machine.work))
    assert ended.exit_code == 0, ended.last
    assert ended.last["data"]["mode"] == "full"
    assert (disk / "src/main.py").read_text() == "print()"
    (disk / "README").write_text("changed")
    again = machine.run("restore", ended.last["data"]["snapshot"], before=bind(disk, machine.work))
    assert again.exit_code == 0, again.last
    assert (disk / "README").read_text() == "hello"
