"""What a scan finds, leaves out, and warns about."""

from __future__ import annotations

import os

from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.write import writer
from tests.unit.archive.conftest import Bench, fill


def _paths(scanned: ScannedTree) -> set[str]:
    return {os.fsdecode(scanned.path(entry)) for entry in range(len(scanned))}


def test_several_roots_also_nested_ones(bench: Bench) -> None:
    for name in ("env/lib", "a/b/c", "other", "work/sub"):
        (bench.scratch / name).mkdir(parents=True)
        (bench.scratch / name / "f").write_bytes(b"x")
    (bench.scratch / "a" / "not-this").write_bytes(b"")
    bench.roots = ["work", "env", "a/b", "missing", "work/sub"]
    assert _paths(bench.scan()) == {
        "work", "work/sub", "work/sub/f", "env", "env/lib", "env/lib/f",
        "a", "a/b", "a/b/c", "a/b/c/f",
    }  # fmt: skip


def test_scratch_may_be_a_symlink(bench: Bench) -> None:
    (bench.work / "f").write_bytes(b"x")
    real = bench.scratch.rename(bench.home / "real")
    bench.scratch.symlink_to(real)
    restored = bench.restore(bench.backup("A"))
    assert (restored / "work/f").read_bytes() == b"x"


def test_unreadable_files_and_directories_are_warned_about(bench: Bench) -> None:
    fill(bench.work)
    (bench.work / "secret").write_bytes(b"x")
    (bench.work / "secret").chmod(0)
    (bench.work / "closed").mkdir()
    (bench.work / "closed" / "inside").write_bytes(b"x")
    (bench.work / "closed").chmod(0)
    index = bench.backup("A")
    found = sorted((code, path) for code, path, _ in bench.warnings)
    assert found == [
        ("files.unreadable", b"work/closed"),
        ("files.unreadable", b"work/secret"),
    ], found
    assert index.find(b"work/secret") is None
    assert index.find(b"work/closed") is not None
    assert index.find(b"work/data") is not None
    again = writer.plan(bench.settled(), index, bench.cache, warn=bench.warn)
    assert again.unchanged, vars(again.found)
    bench.restore(index)
    (bench.work / "closed").chmod(0o700)
