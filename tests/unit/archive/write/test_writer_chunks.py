"""Of a large file that changed a little, a backup stores a little; every byte comes back."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.archive.files import chunker
from scratchflow.archive.foreign.importer import write_complete
from scratchflow.archive.foreign.own_members import OwnMembers
from scratchflow.archive.read.borrowed import verify_borrowed
from scratchflow.archive.read.proven import Proven
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.read.verify import verify_archive
from scratchflow.archive.restore import extract
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.written import write_again
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.unit.archive.conftest import Bench, read_file, tree_state

pytestmark = pytest.mark.usefixtures("small_chunks")

SIZE = 1_000_000


def _entry(index: Index, path: bytes) -> int:
    entry = index.find(path)
    assert entry is not None
    return entry


def _check(bench: Bench, index: Index, name: str) -> None:
    """The archive is sound, and brings the workspace back as it is now."""
    assert verify_archive(bench.path(index.id), open_archive=bench.path) == []
    assert verify_borrowed(index, bench.path, Proven(bench.path, [*index.needs, index.id])) == []
    restored = bench.restore(index, name)
    assert tree_state(restored) == tree_state(bench.scratch)
    shutil.rmtree(restored)


def _version(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[-104 + 16 : -104 + 20], "little")


def _in_place(content: bytearray) -> None:
    content[500_000:500_100] = os.urandom(100)


def _append(content: bytearray) -> None:
    content += os.urandom(1000)


def _insert(content: bytearray) -> None:
    content[0:0] = os.urandom(100)


def _cut_out(content: bytearray) -> None:
    del content[300_000:400_000]


def _swap_halves(content: bytearray) -> None:
    content[:] = content[SIZE // 2 :] + content[: SIZE // 2]


CHANGES: list[Callable[[bytearray], None]] = [_in_place, _append, _insert, _cut_out, _swap_halves]


@pytest.mark.usefixtures("with_and_without_helpers")
@pytest.mark.parametrize("change", CHANGES)
def test_a_small_change_of_a_large_file_stores_little(
    bench: Bench, change: Callable[[bytearray], None]
) -> None:
    # The same each time: where chunks end is a matter of chance, and the limit is near.
    content = bytearray(random.Random(1).randbytes(SIZE))  # noqa: S311 - no secret
    (bench.work / "large").write_bytes(content)
    (bench.work / "small").write_bytes(b"small")
    first = bench.backup("A")
    change(content)
    (bench.work / "large").write_bytes(content)
    second = bench.backup("B", first)
    assert second.needs == ["A"]
    assert second.archives[-1].raw_ends[-1] < 60_000
    assert second.is_scattered(_entry(second, b"work/large"))
    assert _version(bench.path("B")) == 4
    _check(bench, second, "again")


def test_a_full_archive_is_plain(bench: Bench) -> None:
    (bench.work / "large").write_bytes(os.urandom(SIZE))
    (bench.work / "twin").write_bytes((bench.work / "large").read_bytes())
    index = bench.backup("A")
    assert len(index.chunks) == 2
    assert _version(bench.path("A")) == 4
    state = tree_state(bench.scratch, whole_seconds=True)
    assert tree_state(bench.restore_plain("A"), whole_seconds=True) == state
    _check(bench, index, "again")


def test_a_copy_and_a_move_of_a_large_file_store_nothing(bench: Bench) -> None:
    (bench.work / "large").write_bytes(os.urandom(SIZE))
    first = bench.backup("A")
    shutil.copyfile(bench.work / "large", bench.work / "copy")
    (bench.work / "large").rename(bench.work / "moved")
    second = bench.backup("B", first)
    assert second.archives[-1].raw_ends[-1] <= 4096
    assert not second.is_scattered(_entry(second, b"work/copy"))
    _check(bench, second, "again")


def test_a_file_that_holds_others_refers_to_their_chunks(bench: Bench) -> None:
    parts = [os.urandom(SIZE) for _ in range(3)]
    for number, part in enumerate(parts):
        (bench.work / f"part{number}").write_bytes(part)
    first = bench.backup("A")
    (bench.work / "bundle").write_bytes(b"head".join(parts) + b"tail")
    second = bench.backup("B", first)
    assert second.archives[-1].raw_ends[-1] < 120_000
    _check(bench, second, "again")


def test_two_new_files_with_the_same_content_are_stored_once(bench: Bench) -> None:
    (bench.work / "before").write_bytes(b"x")
    first = bench.backup("A")
    content = os.urandom(SIZE)
    (bench.work / "one").write_bytes(content)
    (bench.work / "two").write_bytes(content)
    (bench.work / "zeros").write_bytes(b"\1" * SIZE)
    second = bench.backup("B", first)
    assert second.archives[-1].raw_ends[-1] < SIZE + 100_000
    assert second.needs == ["A"]
    _check(bench, second, "again")


def test_each_name_of_a_changed_file_can_be_restored_alone(bench: Bench) -> None:
    content = bytearray(os.urandom(SIZE))
    (bench.work / "large").write_bytes(content)
    first = bench.backup("A")
    _insert(content)
    (bench.work / "large").write_bytes(content)
    (bench.work / "other").hardlink_to(bench.work / "large")
    second = bench.backup("B", first)
    _check(bench, second, "again")
    for name in ("large", "other"):
        target = bench.home / f"only-{name}"
        target.mkdir()
        select = Selection(second, [f"work/{name}"])
        extract.extract(second, bench.path, target, warn=bench.warn, select=select)
        assert (target / "work" / name).read_bytes() == content
        entry = _entry(second, f"work/{name}".encode())
        assert b"".join(read_file(second, entry, bench.path)) == content


def test_a_file_without_changes_keeps_its_chunks_through_snapshots(bench: Bench) -> None:
    content = bytearray(os.urandom(SIZE))
    (bench.work / "large").write_bytes(content)
    index = bench.backup("A")
    _insert(content)
    (bench.work / "large").write_bytes(content)
    index = bench.backup("B", index)
    (bench.work / "a-new").write_bytes(b"new")
    (bench.work / "other").write_bytes(b"new")
    index = bench.backup("C", index)
    assert sorted(index.needs) == ["A", "B"]
    _check(bench, index, "again")
    with bench.path("D").open("wb", buffering=0) as out:
        assert bench.cache
        again = write_again(index, bench.cache, out, archive_id="D").index
    assert sorted(again.needs) == ["A", "B", "C"]
    assert verify_archive(bench.path("D"), open_archive=bench.path) == []


def test_archives_that_nothing_refers_to_any_more_are_not_needed(bench: Bench) -> None:
    content = os.urandom(SIZE)
    (bench.work / "large").write_bytes(content)
    index = bench.backup("A")
    (bench.work / "large").write_bytes(content[:100_000] + os.urandom(SIZE))
    index = bench.backup("B", index)
    assert index.needs == ["A"]
    (bench.work / "large").write_bytes(os.urandom(SIZE))
    index = bench.backup("C", index)
    assert index.needs == []
    _check(bench, index, "again")


def _write_sparse(file: Path, parts: dict[int, bytes], size: int) -> None:
    with file.open("wb") as out:
        for offset, part in parts.items():
            out.seek(offset)
            out.write(part)
        out.truncate(size)


def test_of_a_file_with_holes_only_what_changed_is_stored(bench: Bench) -> None:
    parts = {1 << 20: os.urandom(200_000), 4 << 20: os.urandom(500_000)}
    _write_sparse(bench.work / "sparse", parts, 6 << 20)
    index = bench.backup("A")
    entry = _entry(index, b"work/sparse")
    assert index.sparse[entry]
    assert index.chunks[entry].place() == (index.archive[entry], index.position[entry])
    _check(bench, index, "again")
    parts = {1 << 20: parts[1 << 20], 2 << 20: b"new", 4 << 20: parts[4 << 20][:-5] + b"other"}
    _write_sparse(bench.work / "sparse", parts, 7 << 20)
    index = bench.backup("B", index)
    assert index.is_scattered(_entry(index, b"work/sparse"))
    assert index.archives[-1].raw_ends[-1] < 60_000
    _check(bench, index, "once-more")
    _export(bench, index)


def test_a_new_file_that_shares_nothing_is_stored_in_frames_of_its_own_chunks(bench: Bench) -> None:
    (bench.work / "large").write_bytes(os.urandom(SIZE))
    first = bench.backup("A")
    (bench.work / "new").write_bytes(os.urandom(SIZE))
    second = bench.backup("B", first)
    assert SIZE < second.archives[-1].raw_ends[-1] < SIZE + 60_000
    assert {number for number, _, _ in second.parts(_entry(second, b"work/new"))} == {1}
    _check(bench, second, "again")


def _change_when_read(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Does something to a large file right before it is read for the first time."""
    found = os.preadv

    def change_then_read(descriptor: int, rooms: list[memoryview], offset: int) -> int:
        monkeypatch.setattr(os, "preadv", found)
        change()
        return found(descriptor, rooms, offset)

    monkeypatch.setattr(os, "preadv", change_then_read)


def test_a_file_that_changes_while_it_is_cut_is_told_and_read_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytearray(os.urandom(SIZE))
    (bench.work / "large").write_bytes(content)
    first = bench.backup("A")
    content[100:110] = b"0123456789"
    (bench.work / "large").write_bytes(content)

    def overwrite() -> None:
        content[-10:] = b"9876543210"
        with (bench.work / "large").open("r+b") as file:
            file.write(content)

    _change_when_read(monkeypatch, overwrite)
    second = bench.backup("B", first)
    assert [code for code, _, _ in bench.warnings] == ["files.changed"]
    assert second.flags[_entry(second, b"work/large")]
    assert verify_archive(bench.path("B"), open_archive=bench.path) == []
    monkeypatch.undo()
    third = bench.backup("C", second)
    (restored := bench.restore(third)).exists()
    assert (restored / "work" / "large").read_bytes() == content


@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_that_is_cut_short_while_it_is_cut_is_stored_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    content = os.urandom(SIZE)
    (bench.work / "large").write_bytes(content)
    first = None if is_first else bench.backup("A")
    (bench.work / "large").write_bytes(content[::-1])
    _change_when_read(monkeypatch, lambda: os.truncate(bench.work / "large", 1000))
    second = bench.backup("B", first)
    entry = _entry(second, b"work/large")
    assert not second.chunks
    assert second.size[entry] == SIZE
    assert [code for code, _, _ in bench.warnings] == ["files.changed"]
    assert verify_archive(bench.path("B"), open_archive=bench.path) == []
    found = b"".join(read_file(second, entry, bench.path))
    assert found[:1000] == content[::-1][:1000]


def test_a_root_with_the_name_of_the_chunk_members_is_stored_whole(bench: Bench) -> None:
    bench.roots = ["work", ".scratchflow-chunks"]
    (bench.scratch / ".scratchflow-chunks").mkdir()
    file = bench.scratch / ".scratchflow-chunks" / "0"
    file.write_bytes(os.urandom(SIZE))
    first = bench.backup("A")
    file.write_bytes(file.read_bytes() + b"more")
    second = bench.backup("B", first)
    assert not second.chunks
    _check(bench, second, "again")


def test_without_the_library_blocks_that_did_not_move_are_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytearray(os.urandom(SIZE))
    (bench.work / "large").write_bytes(content)
    first = bench.backup("A")  # with the library
    monkeypatch.setattr(chunker, "best_cutter", lambda: chunker.cut_blocks)
    _in_place(content)
    (bench.work / "large").write_bytes(content)
    second = bench.backup("B", first)
    _check(bench, second, "again")
    _append(content)
    (bench.work / "large").write_bytes(content)
    third = bench.backup("C", second)
    assert third.archives[-1].raw_ends[-1] < 20_000
    _check(bench, third, "once-more")


@pytest.mark.slow
def test_every_flipped_bit_is_noticed_or_harmless(bench: Bench) -> None:
    content = bytearray(os.urandom(200_000))
    (bench.work / "large").write_bytes(content)
    first = bench.backup("A")
    _insert(content)
    content += os.urandom(30_000)
    (bench.work / "large").write_bytes(content)
    second = bench.backup("B", first)
    state = tree_state(bench.scratch)
    flip = random.Random(7)  # noqa: S311 - the same in every run
    for archive in ("A", "B"):
        whole = bench.path(archive).read_bytes()
        for number in range(60):
            at = flip.randrange(len(whole))
            bench.path(archive).write_bytes(
                whole[:at] + bytes([whole[at] ^ 1 << flip.randrange(8)]) + whole[at + 1 :]
            )
            problems = verify_archive(bench.path("B"), open_archive=bench.path)
            target = bench.home / f"flip-{archive}-{number}"
            target.mkdir()
            try:
                extract.extract(second, bench.path, target, warn=bench.warn)
                assert tree_state(target) == state
            except SnapshotDamaged:
                assert problems
                assert not (target / "work" / "large").exists()
            shutil.rmtree(target)
        bench.path(archive).write_bytes(whole)


def _export(bench: Bench, index: Index) -> None:
    """As a plain full archive."""
    with bench.path("export").open("wb", buffering=0) as out:
        members = OwnMembers(index, bench.path)
        write_complete(members, out, archive_id="export", roots=["work"])
    plain = bench.restore_plain("export")
    subprocess.run(["diff", "-r", bench.scratch, plain], check=True)
    shutil.rmtree(plain)


def _change_at_random(work: Path, chance: random.Random) -> None:
    """What people and programs do to large files."""
    files = sorted(path for path in work.iterdir() if path.is_file())
    file = chance.choice(files)
    content = bytearray(file.read_bytes())
    at = chance.randrange(len(content) + 1)
    deed = chance.randrange(8)
    if deed == 0:
        content[at : at + 50] = chance.randbytes(50)
    elif deed == 1:
        content[at:at] = chance.randbytes(chance.randrange(1, 20_000))
    elif deed == 2:
        del content[at : at + chance.randrange(100_000)]
    elif deed == 3:
        content += bytes(30_000) + chance.randbytes(10_000)
    elif deed == 4:
        file = work / f"copy{chance.randrange(5)}"
    elif deed == 5:
        content += chance.choice(files).read_bytes()[:400_000]
    elif deed == 6 and len(files) > 2:
        file.rename(work / f"moved{chance.randrange(5)}")
        return
    elif deed == 7:
        content[:] = content[at:] + content[:at]
    file.write_bytes(content)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.slow
def test_a_long_chain_of_changes_comes_back_to_the_byte(bench: Bench, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same in every run
    for name in ("a", "b", "c"):
        (bench.work / name).write_bytes(chance.randbytes(chance.randrange(50_000, 500_000)))
    indexes = [bench.backup("S0")]
    states = [tree_state(bench.scratch)]
    for number in range(1, 12):
        for _ in range(chance.randrange(1, 4)):
            _change_at_random(bench.work, chance)
        indexes.append(bench.backup(f"S{number}", indexes[-1]))
        states.append(tree_state(bench.scratch))
        _check(bench, indexes[-1], "again")
    for index, state in zip(indexes, states, strict=True):  # none was touched by a later one
        restored = bench.restore(index)
        assert tree_state(restored) == state
        shutil.rmtree(restored)
    _export(bench, indexes[-1])
    base = indexes[-1]
    for number in (3, 9, 0, 11):
        bench.delta_to(indexes[number], base)
        assert tree_state(bench.scratch) == states[number]
        bench.cache, base = None, indexes[number]
