"""What a backup stores when there is a snapshot before it."""

from __future__ import annotations

import os
import shutil

import pytest

from scratchflow.archive.read import verify
from scratchflow.archive.tree.index import RECHECK, Index
from scratchflow.archive.write import writer
from tests.unit.archive.conftest import Bench, fill, tree_state


def _stored_paths(index: Index) -> set[bytes]:
    own = next(n for n, archive in enumerate(index.archives) if archive.id == index.id)
    return {index.path(entry) for entry, n in enumerate(index.archive) if n == own}


def test_unchanged_tree_needs_no_archive(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    assert bench.plan(first).unchanged
    assert bench.plan(first, cache=False).unchanged


def test_only_changed_content_is_stored(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "src" / "new.c").write_bytes(b"new")
    (bench.work / "data").write_bytes(b"other")
    (bench.work / "bin" / "tool").unlink()
    planned = bench.plan(first)
    assert (planned.unchanged, planned.changed_files, planned.changed_bytes) == (False, 2, 8)
    second = bench.write(planned, "B")
    assert _stored_paths(second) == {b"work/src/new.c", b"work/data"}
    assert second.needs == ["A"]
    assert tree_state(bench.restore(second)) == tree_state(bench.scratch)
    assert verify.verify_archive(bench.path("B"), open_archive=bench.path) == []


def test_a_long_chain_restores_without_replay(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("S0")
    for number in range(1, 8):
        (bench.work / f"f{number}").write_bytes(b"%d" % number * 1000)
        if number > 2:
            (bench.work / f"f{number - 2}").unlink()
        index = bench.backup(f"S{number}", index)
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)
    assert set(index.needs) == {"S0", "S6"}  # S1 to S5 hold nothing that is still alive


def test_full_inherits_the_seed_but_needs_nothing(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    planned = writer.plan(bench.settled(), first, bench.cache, warn=bench.warn, full=True)
    assert (planned.unchanged, planned.changed_files) == (False, 0)
    second = bench.write(planned, "B")
    assert (second.needs, second.seed) == ([], first.seed)
    plain = tree_state(bench.restore_plain("B"), whole_seconds=True)
    assert plain == tree_state(bench.scratch, whole_seconds=True)


@pytest.mark.parametrize("cache", [True, False])
def test_rewrite_with_size_and_mtime_kept_is_noticed(bench: Bench, *, cache: bool) -> None:
    path = bench.work / "sly"
    path.write_bytes(b"before")
    first = bench.backup("A")
    before = path.stat()
    path.write_bytes(b"after!")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert bench.plan(first, cache=cache).changed_files == 1


def test_touched_file_is_not_stored_again(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    os.utime(bench.work / "data", ns=(0, 5_000_000_000))
    planned = bench.plan(first)
    assert (planned.unchanged, planned.changed_files) == (False, 0)
    second = bench.write(planned, "B")
    assert _stored_paths(second) == set()
    assert tree_state(bench.restore(second)) == tree_state(bench.scratch)


def test_chmod_alone_makes_a_snapshot_without_content(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "data").chmod(0o600)
    for cache in (True, False):
        planned = bench.plan(first, cache=cache)
        assert (planned.unchanged, planned.changed_files) == (False, 0)
    second = bench.backup("B", first)
    assert tree_state(bench.restore(second)) == tree_state(bench.scratch)


@pytest.mark.parametrize("cache", [True, False])
def test_moved_files_are_not_stored_again(bench: Bench, *, cache: bool) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "data").rename(bench.work / "nothing" / "moved")
    (bench.work / "src").rename(bench.work / "source")
    planned = bench.plan(first, cache=cache)
    second = bench.write(planned, "B")
    assert b"work/nothing/moved" not in _stored_paths(second)
    assert tree_state(bench.restore(second)) == tree_state(bench.scratch)
    assert verify.verify_archive(bench.path("B"), open_archive=bench.path) == []


def test_copy_of_known_content_is_not_stored_again(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    shutil.copyfile(bench.work / "data", bench.work / "copy")
    second = bench.backup("B", first)
    assert _stored_paths(second) == set()
    assert tree_state(bench.restore(second)) == tree_state(bench.scratch)


def test_a_copy_has_its_own_attributes(bench: Bench) -> None:
    path = bench.work / "data"
    path.write_bytes(b"content")
    os.setxattr(path, b"user.kind", b"original")
    first = bench.backup("A")
    shutil.copyfile(path, bench.work / "copy")
    restored = bench.restore(bench.backup("B", first)) / "work"
    assert os.listxattr(restored / "data") == ["user.kind"]
    assert os.listxattr(restored / "copy") == []


@pytest.mark.parametrize("cache", [True, False])
def test_new_attributes_of_a_directory_are_saved(bench: Bench, *, cache: bool) -> None:
    fill(bench.work)
    os.setxattr(bench.work / "src", b"user.kind", b"old")
    first = bench.backup("A")
    os.setxattr(bench.work / "src", b"user.kind", b"new")
    os.setxattr(bench.work / "nothing", b"user.more", b"x")
    planned = bench.plan(first, cache=cache)
    assert (planned.unchanged, planned.changed_files) == (False, 0)
    second = bench.write(planned, "B")
    restored = bench.restore(second) / "work"
    assert os.getxattr(restored / "src", b"user.kind") == b"new"
    assert os.getxattr(restored / "nothing", b"user.more") == b"x"
    assert bench.plan(second).unchanged


def test_looking_for_known_content_takes_no_longer_for_files_of_one_size(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 400
    for number in range(count):
        (bench.work / f"f{number}").write_bytes(b"old %8d" % number)
    first = bench.backup("A")
    for number in range(count):
        (bench.work / f"f{number}").write_bytes(b"new %8d" % number)
    asked: list[int] = []
    digest_of = Index.digest_of

    def counted(index: Index, entry: int) -> bytes:
        asked.append(entry)
        return digest_of(index, entry)

    monkeypatch.setattr(Index, "digest_of", counted)
    assert bench.plan(first).changed_files == count
    assert len(asked) <= 3 * count


def test_kinds_may_change(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    shutil.rmtree(bench.work / "src")
    (bench.work / "src").write_bytes(b"now a file")
    (bench.work / "data").unlink()
    (bench.work / "data").mkdir()
    (bench.work / "data" / "inside").write_bytes(b"x")
    (bench.work / "loop").unlink()
    (bench.work / "loop").symlink_to("elsewhere")
    second = bench.backup("B", first)
    assert tree_state(bench.restore(second)) == tree_state(bench.scratch)


def test_new_name_for_a_known_file_stores_nothing(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    os.link(bench.work / "data", bench.work / "a-second-name")
    second = bench.backup("B", first)
    assert tree_state(bench.restore(second)) == tree_state(bench.scratch)
    third = bench.backup("C", second)
    assert tree_state(bench.restore(third, "again")) == tree_state(bench.scratch)


def test_sparse_and_xattrs_are_carried_along(bench: Bench) -> None:
    with (bench.work / "m-sparse").open("wb") as file:
        file.seek(1 << 20)
        file.write(b"end")
    first = bench.backup("A")
    for name in ("a", "z"):
        (bench.work / name).write_bytes(b"new")
    second = bench.backup("B", first)
    restored = bench.restore(second)
    assert tree_state(restored) == tree_state(bench.scratch)
    assert (restored / "work" / "m-sparse").stat().st_blocks < 100


def test_uses_count_live_and_stored_bytes(bench: Bench) -> None:
    for number in range(10):
        (bench.work / f"f{number}").write_bytes(os.urandom(100_000))
    first = bench.backup("A")
    for number in range(8):
        (bench.work / f"f{number}").write_bytes(os.urandom(100_001))
    second = bench.backup("B", first)
    uses = {use.id: use for use in second.uses()}
    assert uses["A"].live_bytes < uses["A"].stored_bytes / 4
    assert uses["B"].live_bytes > uses["B"].stored_bytes * 0.95


def test_racy_files_are_read_again(bench: Bench) -> None:
    path = bench.work / "racy"
    path.write_bytes(b"one")
    scanned = bench.scan()  # right after the write: the next one may share its timestamp
    first = bench.write(writer.plan(scanned, None, None, warn=bench.warn), "A")
    entry = first.find(b"work/racy")
    assert entry is not None
    assert first.flags[entry] == RECHECK
    stats = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(stats.st_atime_ns, stats.st_mtime_ns))
    assert bench.plan(first, cache=False).changed_files == 1


def test_racy_but_unchanged_is_unchanged_and_settles(bench: Bench) -> None:
    (bench.work / "racy").write_bytes(b"one")
    first = bench.write(writer.plan(bench.scan(), None, None, warn=bench.warn), "A")
    planned = bench.plan(first)
    assert planned.unchanged
    fresh = planned.cache_if_unchanged()
    assert fresh is not None
    assert not any(fresh.flags)
