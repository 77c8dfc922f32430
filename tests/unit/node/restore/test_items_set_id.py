"""Set-uid and set-gid bits of files: not given back, said once, and no difference afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scratchflow.archive.compare.diff import difference
from scratchflow.archive.read.archive_file import open_index
from scratchflow.model.events import Warned
from scratchflow.model.requests import DiffWorkspace
from scratchflow.node.history.live_diff import diff_workspace
from tests.unit.conftest import Desk

PATHS = ("program", "tool")


@pytest.fixture
def snapshot(desk: Desk) -> str:
    """One with two such files, and a directory and a file with bits that do not come back either."""
    desk.write("work/program", "a").chmod(0o4755)
    desk.write("work/tool", "b").chmod(0o2755)
    desk.write("work/sticky", "c").chmod(0o1644)
    (desk.work / "src").chmod(0o4755)
    return str(desk.backup().snapshot)


def _said(desk: Desk) -> list[str]:
    found = (one for one in desk.events if isinstance(one, Warned) and one.code == "files.set_id")
    return [f"{one.path}: {one.message}" for one in found]


def _modes(top: Path) -> list[str]:
    return [f"{(top / name).stat().st_mode & 0o7777:04o}" for name in PATHS]


def _remove(desk: Desk) -> None:
    for name in PATHS:
        (desk.work / name).unlink()


@pytest.mark.parametrize("how", ["empty", "difference", "paths", "elsewhere"])
def test_a_restore_says_once_that_the_bits_are_not_given_back(
    desk: Desk, snapshot: str, how: str, tmp_path: Path
) -> None:
    if how == "empty":
        shutil.rmtree(desk.work)
    else:
        _remove(desk)
    paths = PATHS if how in {"paths", "elsewhere"} else ()
    to = tmp_path / "there" if how == "elsewhere" else None
    for dry_run in (True, False):
        desk.events.clear()
        desk.restore(snapshot, paths=paths, to=to, dry_run=dry_run)
        (said,) = _said(desk)
        assert said.startswith("work/program: set-uid and set-gid bits are not given back, nor")
        assert "those of 1 more file:" in said
    assert _modes(to or desk.work) == ["0755", "0755"]


def test_lost_bits_are_no_difference(desk: Desk, snapshot: str) -> None:
    shutil.rmtree(desk.work)
    desk.restore()
    desk.events.clear()
    for _ in range(2):
        again = desk.restore(snapshot)
        assert (again.mode, again.safety_snapshot, again.committed_as) == ("nothing", None, None)
    assert _said(desk) == []
    assert diff_workspace(desk.context, desk.notify, DiffWorkspace()).paths == []
    assert desk.backup().kind == "unchanged"
    assert desk.ids == [snapshot]


def test_set_bits_are_no_difference_without_what_is_known_of_files(desk: Desk) -> None:
    desk.write("work/program", "a").chmod(0o755)
    first = str(desk.backup().snapshot)
    (desk.work / "program").chmod(0o4755)  # another change time: the file is read
    assert desk.restore(first, dry_run=True).mode == "nothing"
    assert desk.backup().kind == "unchanged"


def test_snapshots_with_and_without_the_bits_do_not_differ(desk: Desk, snapshot: str) -> None:
    shutil.rmtree(desk.work)
    desk.restore()
    desk.write("work/README", "other")
    later = str(desk.backup().snapshot)
    older, newer = (open_index(desk.place.archive(one)) for one in (snapshot, later))
    assert list(difference(older, newer)) == [("changed", b"work/README")]
