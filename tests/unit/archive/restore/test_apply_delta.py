"""A workspace that is near a snapshot becomes that snapshot by writing only what differs."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from scratchflow.archive.restore import apply_delta as delta
from scratchflow.archive.restore import displace as displacing
from scratchflow.archive.restore.displace import Displacing, Held
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.tree.index import Index
from scratchflow.disk.trees import remove_tree
from tests.unit.archive.conftest import Bench, fill, tree_state


def _two_snapshots(bench: Bench) -> tuple[Index, Index]:
    """A and B; the workspace equals B, whose cache is in place."""
    fill(bench.work)
    (bench.work / "read-only").mkdir()
    (bench.work / "read-only" / "inside").write_bytes(b"1")
    (bench.work / "read-only").chmod(0o555)
    first = bench.backup("A")
    (bench.work / "read-only").chmod(0o755)
    (bench.work / "read-only" / "inside").write_bytes(b"22")
    (bench.work / "read-only").chmod(0o555)
    (bench.work / "src" / "new.c").write_bytes(b"new")
    (bench.work / "bin" / "tool").unlink()
    (bench.work / "data").chmod(0o600)
    (bench.work / "nothing").rmdir()
    (bench.work / "nothing").write_bytes(b"a file now")
    (bench.work / "loop").unlink()
    (bench.work / "loop").mkdir()
    (bench.work / "loop" / "inside").write_bytes(b"x")
    os.unlink(bench.work / "linked.c")
    (bench.work / "linked.c").write_bytes(b"int main(void) { return 0; }\n")
    second = bench.backup("B", first)
    return first, second


def test_going_back_and_forth(bench: Bench) -> None:
    first, second = _two_snapshots(bench)
    states = {"A": tree_state(bench.restore(first, "a")), "B": tree_state(bench.scratch)}
    assert tree_state(bench.restore(second, "b")) == states["B"]
    applied = bench.delta_to(first, second)
    assert tree_state(bench.scratch) == states["A"]
    assert applied.written_files < len(first)
    bench.cache = ScanCache.of(bench.settled(), first)
    bench.delta_to(second, first)
    assert tree_state(bench.scratch) == states["B"]


def test_unchanged_content_is_not_written(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "one").write_bytes(b"1")
    second = bench.backup("B", first)
    inode = (bench.work / "data").stat().st_ino
    applied = bench.delta_to(first, second)
    assert (applied.written_files, applied.removed) == (0, 1)
    assert (bench.work / "data").stat().st_ino == inode
    assert tree_state(bench.scratch) == tree_state(bench.restore(first))


def test_local_changes_are_found_and_overwritten(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    path = bench.work / "data"
    stats = path.stat()
    path.write_bytes(b"?" * stats.st_size)
    os.utime(path, ns=(0, stats.st_mtime_ns))
    (bench.work / "extra").write_bytes(b"x")
    (bench.work / "bin" / "tool").unlink()
    changes = delta.changes_since(first, bench.settled(), bench.cache, bench.warn)
    assert changes.added == [b"work/extra"]
    assert changes.modified == [b"work/data"]
    assert changes.deleted == [b"work/bin/tool"]
    bench.delta_to(first, first)
    assert tree_state(bench.scratch) == tree_state(bench.restore(first))


def test_moved_file_counts_as_added_and_deleted(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "data").rename(bench.work / "moved")
    changes = delta.changes_since(first, bench.settled(), bench.cache, bench.warn)
    assert (changes.added, changes.deleted) == ([b"work/moved"], [b"work/data"])


def test_unknown_workspace_is_rewritten_whole(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "data").write_bytes(b"unknown")
    applied = bench.delta_to(first, None)
    assert applied.written_files == first.counts().files
    assert tree_state(bench.scratch) == tree_state(bench.restore(first))


def test_ignored_files_stay(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    bench.exclude = ["*.o"]
    (bench.work / "obj").mkdir()
    (bench.work / "obj" / "a.o").write_bytes(b"object")
    (bench.work / "obj" / "other").write_bytes(b"x")
    bench.delta_to(first, first)
    assert os.listdir(bench.work / "obj") == ["a.o"]
    assert [(code, path) for code, path, _ in bench.warnings] == [("files.kept", b"work/obj")]


def test_ignored_files_in_the_way_are_never_deleted(bench: Bench) -> None:
    (bench.work / "obj").write_bytes(b"a file")
    first = bench.backup("A")
    (bench.work / "obj").unlink()
    (bench.work / "obj").mkdir()
    (bench.work / "obj" / "a.o").write_bytes(b"object")
    bench.exclude = ["*.o"]
    bench.delta_to(first, first)
    assert (bench.work / "obj").read_bytes() == b"a file"
    assert (bench.work / "obj.before-A" / "a.o").read_bytes() == b"object"


def test_symlinked_directory_in_the_workspace_is_not_written_through(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    outside = bench.home / "outside"
    shutil.move(bench.work / "src", outside)
    (bench.work / "src").symlink_to(outside)
    before = tree_state(outside)
    bench.delta_to(first, first)
    assert tree_state(outside) == before
    assert tree_state(bench.scratch) == tree_state(bench.restore(first))


@pytest.mark.slow
def test_interrupted_anywhere_a_second_run_completes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = _two_snapshots(bench)
    wanted = tree_state(bench.restore(first, "a"))
    saved = bench.home / "saved"
    shutil.copytree(bench.scratch, saved, symlinks=True)
    cache = bench.cache
    for stop_after in range(1, 40):
        remove_tree(bench.scratch)
        shutil.copytree(saved, bench.scratch, symlinks=True)
        bench.cache = cache
        with monkeypatch.context() as patch:
            _fail_after(patch, stop_after)
            with contextlib.suppress(_Killed):
                bench.delta_to(first, second)
        bench.delta_to(first, second)
        # A second name of a file changes with the first: without a snapshot to compare it goes aside.
        state = {p: s for p, s in tree_state(bench.scratch).items() if b".before-" not in p}
        assert state == wanted, stop_after


class _Killed(BaseException):
    """Not an Exception: nothing may handle it."""


def _fail_after(patch: pytest.MonkeyPatch, calls: int) -> None:
    """Lets so many changing system calls of the placer and remover through, then dies."""
    left = [calls]

    def dying(owner: object, name: str) -> object:
        real = getattr(owner, name)

        def call(*args: object, **kwargs: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise _Killed
            return real(*args, **kwargs)

        return call

    for name in ("mkdir", "symlink", "link", "unlink", "rmdir", "fchmod"):
        patch.setattr(os, name, dying(os, name))
    for name in ("exchange", "rename_free"):
        patch.setattr(displacing, name, dying(displacing, name))


def test_target_is_the_scratch_that_was_scanned(bench: Bench, tmp_path: Path) -> None:
    fill(bench.work)
    first = bench.backup("A")
    scanned = bench.settled()
    found = delta.find_delta(scanned, None, None, first, bench.warn)
    scanned.scratch = tmp_path / "gone"
    how = Displacing(Held(scanned), first.id, bench.warn)
    with pytest.raises(FileNotFoundError):
        delta.apply(found, scanned, first, bench.path, displacing=how)
