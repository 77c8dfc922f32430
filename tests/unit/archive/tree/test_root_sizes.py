"""How much lies beneath each root: every file once, whatever names it has and whatever is left out."""

from __future__ import annotations

import os

from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.root_sizes import RootSize, files_at, root_sizes
from tests.unit.archive.conftest import Bench


def _scan(bench: Bench, *roots: str) -> ScannedTree:
    bench.roots = list(roots)
    return bench.scan()


def _entries(scanned: ScannedTree, *paths: str) -> set[int]:
    found = [scanned.find(os.fsencode(path)) for path in paths]
    return {entry for entry in found if entry is not None}


def _write(bench: Bench, path: str, size: int) -> None:
    (bench.scratch / path).parent.mkdir(parents=True, exist_ok=True)
    (bench.scratch / path).write_bytes(bytes(size))


def test_each_root_counts_its_own_and_no_neighbours(bench: Bench) -> None:
    for path, size in (("env/a", 1), ("env-2/b", 10), ("work/c", 100), ("work/d/e/f", 1000)):
        _write(bench, path, size)
    (bench.work / "link").symlink_to("c")
    (bench.work / "empty").mkdir()
    scanned = _scan(bench, "work", "env", "env-2")
    assert root_sizes(scanned, ["work", "env", "env-2", "missing", "work/d"]) == {
        "work": RootSize(2, 1100),
        "env": RootSize(1, 1),
        "env-2": RootSize(1, 10),
        "missing": RootSize(),
        "work/d": RootSize(1, 1000),
    }
    assert sum(size.bytes for size in root_sizes(scanned, bench.roots).values()) == (
        scanned.counts().bytes
    )


def test_a_file_with_names_in_two_roots_counts_once_in_each(bench: Bench) -> None:
    _write(bench, "work/a", 100)
    for name in ("work/b", "env/c", "env/d"):
        (bench.scratch / name).parent.mkdir(exist_ok=True)
        (bench.scratch / name).hardlink_to(bench.work / "a")
    scanned = _scan(bench, "work", "env")
    assert root_sizes(scanned, ["work", "env"]) == {
        "work": RootSize(2, 100),
        "env": RootSize(2, 100),
    }


def test_what_is_left_out_does_not_count_whichever_name_of_a_file_it_is(bench: Bench) -> None:
    _write(bench, "work/a", 100)
    _write(bench, "work/other", 7)
    (bench.work / "b").hardlink_to(bench.work / "a")
    (bench.work / "c").hardlink_to(bench.work / "a")
    scanned = _scan(bench, "work")

    def size_without(*paths: str) -> RootSize:
        return root_sizes(scanned, ["work"], _entries(scanned, *paths))["work"]

    assert size_without("work/other") == RootSize(3, 100)
    assert size_without("work/a") == RootSize(3, 107)
    assert size_without("work/b") == RootSize(3, 107)
    assert size_without("work/a", "work/b") == RootSize(2, 107)
    assert size_without("work/a", "work/b", "work/c") == RootSize(1, 7)


def test_the_files_at_a_path_or_beneath_it(bench: Bench) -> None:
    for path in ("work/a", "work/d/b", "work/d/e/c", "work/da"):
        _write(bench, path, 1)
    scanned = _scan(bench, "work")
    assert files_at(scanned, [b"work/d"]) == _entries(scanned, "work/d/b", "work/d/e/c")
    assert files_at(scanned, [b"work/a", b"work/none"]) == _entries(scanned, "work/a")
    assert len(files_at(scanned, [b"work", b"work/d"])) == 4
