"""Files of other users in the workspace: a restore says what it may not do before it does anything."""

from __future__ import annotations

import os

import pytest

from tests.root.conftest import Machine


def test_a_foreign_directory_whose_file_differs_is_refused_before_anything_changes(
    others: Machine,
) -> None:
    others.write("work/made/file", "first")
    first = others.backup()
    others.write("work/README", "second")
    others.write("work/made/file", "second")
    os.chown(others.work / "made", 0, 0)
    ended = others.run("restore", first)
    assert (ended.exit_code, ended.last["code"]) == (35, "restore.not_permitted")
    assert "work/made" in ended.last["message"]
    assert (others.work / "README").read_text() == "second"
    assert others.run("backup").exit_code == 0


@pytest.mark.parametrize("mode", [0o755, 0o555])
def test_a_foreign_directory_that_is_as_wanted_is_no_obstacle(others: Machine, mode: int) -> None:
    others.write("work/made/file", "same")
    first = others.backup()
    others.write("work/README", "second")
    os.utime(others.work / "made")
    (others.work / "made").chmod(mode)
    os.chown(others.work / "made", 0, 0)
    ended = others.run("restore", first)
    assert ended.exit_code in {0, 100}, ended.last
    assert (others.work / "README").read_text() == "hello"
    assert others.run("backup").exit_code in {0, 100}


def test_a_name_that_cannot_be_linked_to_a_foreign_file_gets_a_file_of_its_own(
    others: Machine,
) -> None:
    """As a container leaves it: ours to read, somebody else's, and of three names two are gone."""
    file = others.write("work/file", "three names")
    links = [others.work / "link", others.work / "link2"]
    for link in links:
        link.hardlink_to(file)
    first = others.backup()
    os.chown(file, 0, 0)
    for link in links:
        link.unlink()
    others.write("work/README", "second")
    others.backup()
    ended = others.run("restore", first)
    assert ended.exit_code == 0, ended.last
    warned = [line["path"] for line in ended.lines if line.get("code") == "files.not_linked"]
    assert warned == ["work/link", "work/link2"]
    assert links[0].read_text() == "three names"
    assert links[0].samefile(links[1])
    assert (others.work / "README").read_text() == "hello"
    assert others.run("backup").exit_code == 0
    assert others.run("snapshots", "verify").exit_code == 0


@pytest.mark.parametrize("change", ["replace", "remove"])
def test_a_foreign_file_in_a_sticky_directory_is_refused_before_anything_changes(
    others: Machine, change: str
) -> None:
    """Everybody may write to the directory, but only the owner may rename or remove the file."""
    others.write("work/shared/mine", "first")
    if change == "replace":
        others.write("work/shared/file", "first")
    first = others.backup()
    others.write("work/README", "second")
    file = others.write("work/shared/file", "second")
    for path in (others.work / "shared", file):
        os.chown(path, 0, 0)
    (others.work / "shared").chmod(0o1777)
    others.backup()
    ended = others.run("restore", first)
    assert (ended.exit_code, ended.last["code"]) == (35, "restore.not_permitted")
    assert "work/shared/file" in ended.last["message"]
    assert (others.work / "README").read_text() == "second"
    assert others.run("backup").exit_code == 0
