"""Directories are opened one name at a time: no link is followed, and few stay open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.scan.scan import ScannedTree
from tests.unit.archive.conftest import Bench


def _group(scanned: ScannedTree, path: bytes) -> int:
    entry = scanned.find(path)
    assert entry is not None
    return scanned.group_at(entry)


def _open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _is(descriptor: int, path: Path) -> bool:
    return os.path.samestat(os.fstat(descriptor), path.stat())


@pytest.mark.parametrize("kept_open", [1, 2, 64])
def test_every_directory_is_the_right_one_however_few_stay_open(
    bench: Bench, kept_open: int
) -> None:
    for made in ("a/b/c/d", "a/x/y", "z"):
        (bench.work / made).mkdir(parents=True)
    scanned = bench.scan()
    before = _open_descriptors()
    with DirectoryHandles(scanned, bytes(bench.scratch), kept_open) as handles:
        assert _is(handles.get(0), bench.scratch)
        for _ in range(2):
            for group in reversed(range(1, scanned.group_count)):
                path = bench.scratch / os.fsdecode(scanned.group_path(group))
                assert _is(handles.get(group), path)
        assert _open_descriptors() - before <= max(kept_open, 2) + 1
    assert _open_descriptors() == before


def test_a_directory_that_became_a_link_is_not_followed(bench: Bench) -> None:
    (bench.work / "a/b").mkdir(parents=True)
    (bench.home / "outside/b").mkdir(parents=True)
    scanned = bench.scan()
    (bench.work / "a").rename(bench.work / "moved")
    (bench.work / "a").symlink_to(bench.home / "outside")
    with DirectoryHandles(scanned, bytes(bench.scratch)) as handles:
        for path in (b"work/a", b"work/a/b"):
            with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
                handles.get(_group(scanned, path))
        assert _is(handles.get(_group(scanned, b"work")), bench.work)


def test_a_descriptor_that_was_given_stays_the_callers(bench: Bench) -> None:
    scanned = bench.scan()
    root = os.open(bench.scratch, os.O_RDONLY)
    handles = DirectoryHandles(scanned, root)
    assert _is(handles.get(_group(scanned, b"work")), bench.work)
    handles.close()
    handles.close()  # harmless when repeated
    assert _is(root, bench.scratch)
    os.close(root)
