"""Of an archive without a manifest only what is needed takes room after `prune`."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from scratchflow.archive.files import chunker
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.proven import is_left
from scratchflow.archive.tree import chunks
from scratchflow.archive.write.remnant import Range, merged, ranges_in
from scratchflow.disk.durable import write_new
from scratchflow.model.errors.store import LockLost, NoSpace
from scratchflow.model.requests import Prune
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.retention import prune_snapshots
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.commit import commit as committing
from scratchflow.store.commit.archive_file import ArchiveFile
from scratchflow.store.commit.commit import NewSnapshot
from scratchflow.store.rescue_files import our_files
from scratchflow.store.retention import compact as compacting
from scratchflow.store.retention.compact import compact, plan_compaction
from scratchflow.store.retention.prune import remove
from scratchflow.store.retention.readers import reading
from scratchflow.testing.store import make_lock, make_manifest
from tests.unit.conftest import Desk

pytestmark = pytest.mark.slow  # many backups

MIB = 1 << 20


@pytest.fixture(autouse=True)
def small_files_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MIN_CHUNKED_BYTES", MIB)
    monkeypatch.setattr(chunker, "MIN_CHUNK_BYTES", MIB >> 6)
    monkeypatch.setattr(chunker, "CHUNK_BYTES", MIB >> 6)
    monkeypatch.setattr(chunker, "MAX_CHUNK_BYTES", MIB >> 4)


class Chain:
    """Snapshots of a file that is replaced bit by bit, of which the last one stays."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        pieces = [os.urandom(MIB) for _ in range(4)]
        self.ids = []
        for number in range(4):
            pieces[number] = os.urandom(MIB)
            desk.write("work/large", b"".join(pieces))
            self.ids.append(desk.backup().snapshot or "")
        # Of the first archive a quarter of the file is needed, of the others all but a little.
        self.content = desk.content()

    @property
    def sizes(self) -> dict[str, int]:
        place = self.desk.place.directory
        return {path.name: path.stat().st_size for path in place.glob("*.tar.lz4")}

    def remove_older(self) -> None:
        with make_lock(self.desk.place).acquired() as lock:
            remove(lock, self.ids[:-1])

    def compact(self) -> compacting.Compacted:
        with make_lock(self.desk.place).acquired() as lock:
            return compact(lock)

    def check(self) -> None:
        desk = self.desk
        assert read_catalogue(desk.place).damaged == {}
        assert verify_snapshots(desk.context, desk.notify, []).bad == []
        target = desk.scratch / "out"
        desk.restore(self.ids[-1], to=target)
        assert desk.content(target / "work") == self.content
        for path in sorted(target.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        target.rmdir()


@pytest.fixture
def chain(desk: Desk) -> Chain:
    return Chain(desk)


def archive_bytes(desk: Desk) -> int:
    return sum(path.stat().st_size for path in desk.place.directory.glob("*.tar.lz4"))


@pytest.fixture
def many(desk: Desk) -> Desk:
    """Small changes among many files: each archive is nearly all index, and the last snapshot needs a bit of it."""
    for number in range(3000):
        desk.write(f"work/{random.Random(number).randbytes(12).hex()}", b"%d" % number)  # noqa: S311
    desk.backup()
    for number in range(10):
        desk.write(f"work/changed{number}", os.urandom(1000))
        desk.backup(never_full=True)
    return desk


def test_many_small_archives_do_not_add_up(many: Desk) -> None:
    content, ids = many.content(), many.ids
    each = archive_bytes(many) // len(ids)
    assert 8 * compacting.MIN_FREED_BYTES < each < MIB
    prune_snapshots(many.context, many.notify, Prune(snapshots=tuple(ids[:-1])))
    newest = many.place.archive(ids[-1]).stat().st_size
    first = many.place.archive(ids[0]).stat().st_size
    assert archive_bytes(many) - newest - first < 9 * 2 * (1000 + compacting.MIN_FREED_BYTES)
    assert verify_snapshots(many.context, many.notify, []).bad == []
    many.restore(ids[-1], to=many.scratch / "out")
    assert many.content(many.scratch / "out/work") == content


def test_a_round_takes_no_more_small_archives_than_its_limit_allows(many: Desk) -> None:
    with make_lock(many.place).acquired() as lock:
        remove(lock, many.ids[:-1])
        work = plan_compaction(many.place).work
        told: list[tuple[int, int, int, int]] = []

        def note(number: int, of: int, done_bytes: int, total_bytes: int) -> None:
            told.append((number, of, done_bytes, total_bytes))

        done = compact(lock, limit_bytes=3 * MIB, progress=note)
    sizes = [one.expected_bytes for one in work]
    assert sorted(done.archives) == sorted(one.archive for one in work[:3])
    assert told == [(number, len(work), sum(sizes[:number]), sum(sizes)) for number in range(3)]


def test_prune_leaves_no_more_than_twice_what_is_needed(chain: Chain) -> None:
    desk = chain.desk
    before = sum(chain.sizes.values())
    result = prune_snapshots(desk.context, desk.notify, Prune(snapshots=tuple(chain.ids[:-1])))
    after = chain.sizes
    assert desk.ids == chain.ids[-1:]
    assert f"{chain.ids[0]}.tar.lz4" in after
    assert sum(after.values()) < 2 * sum(map(len, chain.content.values()))
    assert before - sum(after.values()) == result.freed_bytes >= 2 * MIB
    chain.check()


def test_what_is_mostly_needed_stays_as_it_is_and_nothing_is_done_twice(chain: Chain) -> None:
    chain.remove_older()
    sizes = chain.sizes
    done = chain.compact()
    assert done.archives == (chain.ids[0],)
    assert done.freed_bytes == sum(sizes.values()) - sum(chain.sizes.values())
    assert {name for name in sizes if sizes[name] != chain.sizes[name]} == {
        f"{chain.ids[0]}.tar.lz4"
    }
    assert chain.compact() == compacting.Compacted()
    chain.check()


def test_an_archive_with_a_manifest_is_never_touched(chain: Chain) -> None:
    sizes = chain.sizes
    assert chain.compact() == compacting.Compacted()
    assert chain.sizes == sizes


def test_the_next_backups_and_a_delta_go_on_from_there(chain: Chain) -> None:
    desk = chain.desk
    chain.remove_older()
    assert chain.compact().archives
    desk.write("work/large", chain.content["large"][: 3 * MIB] + b"more")
    desk.write("work/copy", chain.content["large"])
    taken = desk.backup(never_full=True)
    assert chain.ids[0] in read_catalogue(desk.place).snapshots[-1].needs
    assert chain.sizes[f"{taken.snapshot}.tar.lz4"] < MIB
    assert verify_snapshots(desk.context, desk.notify, []).bad == []
    desk.restore(chain.ids[-1])
    assert desk.content() == chain.content
    chain.check()


def test_what_a_restore_reads_stays_as_it_is(chain: Chain) -> None:
    chain.remove_older()
    sizes = chain.sizes
    with reading(chain.desk.place, chain.ids[-1], chain.ids, token="0" * 8):
        assert chain.compact() == compacting.Compacted()
    assert chain.sizes == sizes
    assert chain.compact().archives


def test_an_index_that_cannot_be_read_keeps_what_it_may_need(chain: Chain) -> None:
    chain.remove_older()
    desk = chain.desk
    path = desk.place.archive(chain.ids[-1])
    whole = path.read_bytes()
    path.write_bytes(whole[:-200] + bytes([whole[-200] ^ 1]) + whole[-199:])
    assert chain.compact() == compacting.Compacted()
    path.write_bytes(whole)
    chain.check()


def test_a_manifest_that_cannot_be_read_keeps_everything(chain: Chain) -> None:
    chain.remove_older()
    unreadable = chain.desk.place.manifest(chain.ids[1])
    unreadable.write_bytes(b"half")
    assert chain.compact() == compacting.Compacted()


def test_a_damaged_archive_stays_as_it_is(chain: Chain) -> None:
    chain.remove_older()
    path = chain.desk.place.archive(chain.ids[0])
    content = bytearray(path.read_bytes())
    for at in range(1000, len(content) - 10_000, 10_000):  # somewhere in what is needed
        content[at] ^= 1
    path.write_bytes(content)
    assert chain.compact() == compacting.Compacted()
    assert path.read_bytes() == content


def test_a_full_disk_costs_nothing(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    chain.remove_older()
    sizes = chain.sizes

    def full(_self: ArchiveFile, _data: object) -> int:
        raise NoSpace(path="store", reason="full")

    monkeypatch.setattr(ArchiveFile, "write", full)
    assert chain.compact() == compacting.Compacted()
    assert chain.sizes == sizes
    monkeypatch.undo()
    chain.check()


def test_a_commit_that_slept_while_an_archive_was_rewritten_is_withdrawn(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.remove_older()
    place = chain.desk.place
    new = "20991231T000000Z-abcdef"
    needs = [chain.ids[0]]

    def sleep_then_write(file: Path, content: bytes, *, mode: int) -> None:
        lock = place.directory / "lock.d"
        aside = place.directory / "lock.aside"
        os.rename(lock, aside)  # taken over by somebody who thinks that we are dead
        assert chain.compact().archives
        os.rename(aside, lock)
        write_new(file, content, mode=mode)

    monkeypatch.setattr(committing, "write_new", sleep_then_write)
    with make_lock(place).acquired() as lock, NewSnapshot(lock, new) as one:
        one.file.write(b"bytes")
        digest = WholeDigest().text(b"bytes")
        manifest = make_manifest(new, kind="incremental", needs=needs, archive_digest=digest)
        with pytest.raises(LockLost):
            one.commit(manifest)
    assert chain.desk.ids == chain.ids[-1:]
    chain.check()


def test_the_rescue_beside_it_knows_what_was_rewritten(chain: Chain) -> None:
    chain.remove_older()
    rescue = chain.desk.place.directory / "rescue.py"
    rescue.write_text("# scratchflow rescue, version 1\n")
    assert chain.compact().archives
    assert rescue.read_bytes() == our_files()["rescue.py"]


def test_nothing_is_left_of_a_rewriting_that_failed(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.remove_older()
    names = set(os.listdir(chain.desk.place.directory))

    def fail(_place: object) -> set[str]:
        raise InterruptedError("right before the end")

    monkeypatch.setattr(compacting, "held_archives", fail)
    with pytest.raises(InterruptedError):
        chain.compact()
    monkeypatch.undo()
    assert set(os.listdir(chain.desk.place.directory)) == names
    chain.check()


def test_verify_reads_what_is_left_once_for_all_snapshots(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = chain.desk
    chain.remove_older()
    assert chain.compact().archives
    for number in range(3):
        desk.write("work/small", b"%d" % number)
        desk.backup(never_full=True)
    read: list[int] = []
    real = os.preadv

    def counted(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        read.append(real(descriptor, buffers, offset))
        return read[-1]

    monkeypatch.setattr(os, "preadv", counted)
    found = verify_snapshots(desk.context, desk.notify, [])
    assert (found.checked, found.bad) == (4, [])
    assert sum(read) == sum(chain.sizes.values())


def _change_at_random(desk: Desk, chance: random.Random) -> None:
    """Content that cannot be compressed, so that as many bytes are needed as are read."""
    for number in chance.sample(range(12), 4):
        desk.write(f"work/small{number}", chance.randbytes(chance.randrange(1, 200_000)))
    path = desk.work / f"large{chance.randrange(2)}"
    content = bytearray(path.read_bytes() if path.exists() else chance.randbytes(3 * MIB))
    at = chance.randrange(len(content))
    content[at : at + 2 * MIB] = chance.randbytes(chance.randrange(2 * MIB))
    desk.write(f"work/{path.name}", bytes(content) + chance.randbytes(MIB))


def _needed_bytes(desk: Desk, archive: str) -> tuple[int, int]:
    """How many bytes snapshots read from an archive, and how long its tar stream is."""
    live: list[Range] = []
    length = 0
    for one in read_catalogue(desk.place).snapshots:
        index = open_index(desk.place.archive(one.id))
        for number, frames in enumerate(index.archives):
            if frames.id == archive:
                live += ranges_in(index, number)
                length = frames.raw_ends[-1]
    return sum(end - start for start, end in merged(live)), length


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.slow
def test_after_prune_no_archive_takes_more_than_twice_what_is_needed_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(compacting, "MIN_FREED_BYTES", 1)
    chance = random.Random(seed)  # noqa: S311 - the same in every run
    rewritten = 0
    for _ in range(3):
        for _ in range(4):
            _change_at_random(desk, chance)
            desk.backup(never_full=True)
        content = desk.content()
        unwanted = chance.sample(desk.ids[:-1], len(desk.ids) - 2)
        prune_snapshots(desk.context, desk.notify, Prune(snapshots=tuple(unwanted)))
        for path in desk.place.directory.glob("*.tar.lz4"):
            archive = path.name.removesuffix(".tar.lz4")
            if archive in desk.ids:
                continue
            needed, length = _needed_bytes(desk, archive)
            # A needed frame is zeros where nothing is needed, and these take a 255th of their length.
            assert path.stat().st_size <= 2 * (needed + length // 255) + 1000
            rewritten += is_left(archive, desk.place.archive)
        assert verify_snapshots(desk.context, desk.notify, []).bad == []
    assert rewritten
    desk.restore(desk.ids[-1], to=desk.scratch / "out")
    assert desk.content(desk.scratch / "out/work") == content


def test_a_plan_is_not_carried_out_when_there_are_other_snapshots_by_then(chain: Chain) -> None:
    desk = chain.desk
    chain.remove_older()
    plan = plan_compaction(desk.place)
    assert [one.archive for one in plan.work] == [chain.ids[0]]
    sizes = chain.sizes
    desk.write("work/more", b"more")
    desk.backup(never_full=True)
    with make_lock(desk.place).acquired() as lock:
        assert compact(lock, plan) == compacting.Compacted()
    assert {name: chain.sizes[name] for name in sizes} == sizes
    with make_lock(desk.place).acquired() as lock:
        assert compact(lock, plan_compaction(desk.place)).archives == (chain.ids[0],)
    chain.check()


def test_a_plan_that_somebody_else_carried_out_frees_nothing_more(chain: Chain) -> None:
    chain.remove_older()
    plan = plan_compaction(chain.desk.place)
    assert chain.compact().archives
    sizes = chain.sizes
    with make_lock(chain.desk.place).acquired() as lock:
        assert compact(lock, plan).freed_bytes == 0
    assert chain.sizes == sizes
    chain.check()
