"""Mount points inside a workspace are not entered."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from scratchflow.archive.files import mounts as mounted
from scratchflow.archive.files.mounts import Mounts
from scratchflow.archive.scan import scan
from scratchflow.archive.tree.tree import Tree
from scratchflow.disk.mounts import mounts_beneath
from tests.unit.archive.conftest import Bench


def _paths(tree: Tree) -> set[str]:
    return {os.fsdecode(tree.path(entry)) for entry in range(len(tree))}


@pytest.fixture
def mount_table(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mount table with a directory, a file and the workspace itself in it."""
    table = tmp_path / "mountinfo"
    inside = {"work": 1, "work/sub/home": 30, "work/sub/file": 30, "deep": 1}
    lines = [
        f"{number} {mount} 254:0 / {bench.scratch}/{path} rw - ext4 /dev/vda rw"
        for number, (path, mount) in enumerate(inside.items(), 30)
    ]
    table.write_text("\n".join(lines))
    monkeypatch.setattr(mounted, "mounts_beneath", partial(mounts_beneath, mountinfo=table))
    return table


@pytest.mark.usefixtures("mount_table", "with_and_without_helpers")
def test_mount_points_are_not_entered_and_named_in_a_warning(bench: Bench) -> None:
    bench.roots = ["work", "deep/env"]
    for path in ("work/sub/home/secret", "work/sub/file", "work/beside", "deep/env/bin"):
        (bench.scratch / path).parent.mkdir(parents=True, exist_ok=True)
        (bench.scratch / path).write_bytes(b"x")
    (bench.work / "sub/home").chmod(0)  # nobody looks: it may never answer
    index = bench.backup("A")
    assert _paths(index) == {
        "work", "work/beside", "work/sub", "work/sub/home", "deep", "deep/env", "deep/env/bin",
    }  # fmt: skip
    assert {(code, path) for code, path, _ in bench.warnings} == {
        ("files.mounted", b"work/sub/home"),
        ("files.mounted", b"work/sub/file"),
    }
    said = {path: text for _, path, text in bench.warnings}
    assert "earlier snapshots" in said[b"work/sub/home"]
    assert bench.plan(index).unchanged
    restored = bench.restore(index) / "work/sub/home"
    assert restored.stat().st_mode & 0o777 == 0o755
    assert list(restored.iterdir()) == []


@pytest.mark.usefixtures("mount_table")
def test_excluded_mount_points_are_not_mentioned(bench: Bench) -> None:
    (bench.work / "sub/home").mkdir(parents=True)
    (bench.work / "sub/file").write_bytes(b"")
    bench.exclude = ["home", "file"]
    assert _paths(bench.scan()) == {"work", "work/sub"}
    assert bench.warnings == []


def test_where_mounts_are_not_listed_another_device_shows_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bench.work / "sub").mkdir()
    (bench.work / "sub/x").write_bytes(b"")
    monkeypatch.setattr(scan, "mounts_inside", lambda *_: Mounts(by_device=True))
    assert "work/sub/x" in _paths(bench.scan())
    lstat = os.lstat

    def elsewhere(stats: os.stat_result) -> os.stat_result:
        times = {name: getattr(stats, name) for name in ("st_mtime_ns", "st_ctime_ns")}
        return os.stat_result((*stats[:2], stats.st_dev + 1, *stats[3:]), times)

    def looked(name: bytes, *, dir_fd: int | None = None) -> os.stat_result:
        stats = lstat(name, dir_fd=dir_fd)
        return elsewhere(stats) if name == b"sub" else stats

    monkeypatch.setattr(os, "lstat", looked)
    assert _paths(bench.scan()) == {"work", "work/sub"}
    assert [code for code, _, _ in bench.warnings] == ["files.mounted"]
