"""What `status` says of the store's contents: what really shrank, and which snapshots are damaged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scratchflow.login.status import store_problems
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.results.status import Problem
from tests.unit.conftest import Desk, make_desk
from tests.unit.login.status.test_status import Login

ALSO = '[profiles.test.backup]\nalso = ["data"]\n'


def shrunk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> str:
    (problem,) = Login(desk, monkeypatch).look().problems
    assert problem.name == "backup.shrunk"
    return problem.detail


def test_status_names_the_root_that_shrank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = make_desk(tmp_path, ALSO)
    desk.write("work/one")
    desk.write("data/file")
    desk.backup()
    (desk.scratch / "data/file").unlink()
    desk.write("work/two")
    desk.backup(purpose="auto")
    assert "`data` holds 0 files (0 B) instead of 1 file (1 B)" in shrunk(desk, monkeypatch)


def test_the_root_that_shrank_last_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(tmp_path, ALSO)
    desk.write("work/one")
    desk.write("data/file")
    whole = desk.backup().snapshot or ""
    (desk.scratch / "data/file").unlink()
    desk.backup(purpose="auto")
    back = desk.restore(whole).committed_as
    (desk.work / "one").unlink()
    assert desk.backup(purpose="auto").parent == back
    assert "`work` holds 0 files" in shrunk(desk, monkeypatch)


@pytest.mark.parametrize("unread", [True, False])
def test_what_could_not_be_read_is_to_be_made_readable_before_anything_is_restored(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, unread: bool
) -> None:
    whole = desk.backup().snapshot
    shutil.rmtree(desk.work / "data")
    desk.backup(purpose="auto")
    problem = Problem(name="backup.unsaved", detail="`work/data/`", fix="")
    monkeypatch.setattr(store_problems, "_unsaved", lambda *_: [problem] * unread)
    problems = {one.name: one for one in Login(desk, monkeypatch).look().problems}
    fix = problems["backup.shrunk"].fix
    restores = f"`scratchflow restore {whole}` brings "
    before = fix.partition(restores)[0]
    assert restores in fix
    assert ("`scratchflow backup`" in before) is unread
    assert ("backup.unsaved" in problems) is unread


def test_when_only_bytes_were_lost_the_sizes_are_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.backup()
    desk.write("work/data/big.bin", "little")
    desk.backup(purpose="auto")
    desk.write("work/README", "hello again")
    desk.backup(purpose="auto")
    assert "3 files (24 B) instead of 3 files (" in shrunk(desk, monkeypatch)


@pytest.mark.parametrize("is_cut", [True, False])
def test_an_archive_that_is_cut_or_gone_is_told_though_nobody_has_read_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, is_cut: bool
) -> None:
    desk.backup()
    desk.write("work/README", "again")
    newest = desk.backup().snapshot or ""
    archive = desk.place.archive(newest)
    if is_cut:
        os.truncate(archive, archive.stat().st_size - 5)
    else:
        archive.unlink()
    (problem,) = Login(desk, monkeypatch).look().problems
    assert problem.name == "snapshots.damaged"
    what = "bytes instead of" if is_cut else "is missing"
    assert problem.detail.startswith(f"snapshot {newest} is damaged: `{archive.name}` ")
    assert what in problem.detail
    assert f"`scratchflow snapshots prune {newest}` removes the damaged one" in problem.fix


def test_all_that_need_one_archive_are_told_together(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk.backup().snapshot or ""
    for number in range(2):
        desk.write("work/README", str(number))
        desk.backup()
    ids = desk.ids
    desk.place.archive(first).unlink()
    login = Login(desk, monkeypatch)
    (problem,) = login.look().problems
    assert problem.detail == f"snapshots {', '.join(ids)} are damaged: `{first}.tar.lz4` is missing"
    assert f"`scratchflow snapshots prune {' '.join(ids)}` removes the damaged ones" in problem.fix
    monkeypatch.setattr(store_problems, "_NAMED", 2)
    (problem,) = login.look().problems
    assert f"snapshots {ids[0]}, {ids[1]}, 1 more are damaged" in problem.detail
    assert "calls DAMAGED" in problem.fix


def test_what_reads_from_a_damaged_archive_is_to_be_verified_before_it_is_removed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Perhaps it reads only what is whole there: the unsaved work of a failed restore is such a snapshot."""
    first = desk.backup().snapshot or ""
    desk.write("work/README", "again")
    second = desk.backup().snapshot or ""
    archive = desk.place.archive(first)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 4
    archive.write_bytes(content)
    with pytest.raises(SnapshotDamaged):
        desk.restore(first, to=tmp_path / "elsewhere")
    damaged, perhaps = Login(desk, monkeypatch).look().problems
    assert damaged.detail.startswith(f"snapshot {first} is damaged: ")
    assert f"prune {first}`" in damaged.fix
    assert second not in damaged.fix
    assert perhaps.name == "snapshots.doubtful"
    assert perhaps.detail.startswith(f"snapshot {second} may be damaged: it needs the archive of")
    assert perhaps.fix.startswith(f"`scratchflow snapshots verify {second}` says")


def test_without_a_workspace_the_newest_whole_snapshot_is_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk.backup().snapshot or ""
    desk.write("work/README", "again")
    newest = desk.backup().snapshot or ""
    desk.place.archive(newest).unlink()
    shutil.rmtree(desk.work)
    login = Login(desk, monkeypatch)
    (problem,) = login.look().problems
    way_out = (
        f"`scratchflow restore {first}` brings back the newest whole one (just now); after that"
    )
    assert problem.fix.startswith(f"{way_out} `scratchflow snapshots prune {newest}` removes")
    assert "backup" not in problem.fix
    login.hold()  # on another machine: whether it is there is not known
    fixes = [one.fix for one in login.look().problems if one.name == "snapshots.damaged"]
    assert fixes[0].startswith("on a node that has the workspace, `scratchflow backup --full`")
    assert f"elsewhere, {way_out}" in fixes[0]


def test_where_nothing_is_whole_nothing_is_to_be_restored_or_removed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.place.archive(desk.backup().snapshot or "").unlink()
    shutil.rmtree(desk.work)
    (problem,) = Login(desk, monkeypatch).look().problems
    assert problem.fix.startswith("no snapshot is known to be whole; ")
    assert "`scratchflow --set workspace=NAME create`" in problem.fix
    assert "prune" not in problem.fix
