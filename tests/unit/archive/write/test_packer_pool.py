"""Packers make a backup quicker; they never change what is stored, and never outlive it."""

from __future__ import annotations

import errno
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from scratchflow.archive.read import verify
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write import packer_pool as packers
from scratchflow.archive.write import writer
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.archive.write.batches import Bundle
from scratchflow.archive.write.packer import Packing
from scratchflow.model.errors.store import NoSpace
from tests.unit.archive.conftest import Bench, fill, tree_state, wait_until_gone

pytestmark = [
    pytest.mark.slow,  # processes are killed
    pytest.mark.skipif(sys.platform != "linux", reason="packers are forked on Linux only"),
]


@pytest.fixture(autouse=True)
def begun(monkeypatch: pytest.MonkeyPatch) -> list[packers.Packers]:
    """The packers of every backup, two at a time however little there is to store."""
    seen: list[packers.Packers] = []
    real = packers.Packers.__init__

    def init(self: packers.Packers, *given: object) -> None:
        real(self, *given)  # type: ignore[arg-type]  # passed on as they came
        seen.append(self)

    monkeypatch.setattr(packers.Packers, "__init__", init)
    monkeypatch.setattr(writer, "_BYTES_EACH", 1)
    return seen


def many(bench: Bench) -> None:
    """Some dozen frames of small files, with a large one between them."""
    fill(bench.work)
    for number in range(60):
        (bench.work / f"d{number % 7}").mkdir(exist_ok=True)
        content = os.urandom(400_000) + bytes(400_000)
        (bench.work / f"d{number % 7}" / f"{number}").write_bytes(content)
    (bench.work / "d3" / "large").write_bytes(os.urandom(3 * FRAME_BYTES))
    os.link(bench.work / "d1" / "1", bench.work / "d6" / "linked")


def write(bench: Bench, archive_id: str, threads: int, when_busy: object = None) -> Index:
    calls = [when_busy] if when_busy else []

    def progress(*_: object) -> None:
        if calls:
            action = calls.pop()
            assert callable(action)
            action()

    with bench.path(archive_id).open("wb", buffering=0) as out:
        writer.write(
            bench.plan(), out, archive_id=archive_id, warn=bench.warn, threads=threads,
            progress=progress,
        )  # fmt: skip
    assert verify.verify_archive(bench.path(archive_id)) == []
    return open_index(bench.path(archive_id))


@pytest.mark.slow
def test_the_same_is_stored_with_packers_as_without(bench: Bench) -> None:
    many(bench)
    alone, helped = write(bench, "A", 1), write(bench, "B", 2)
    assert list(helped.names) == list(alone.names)
    assert helped.counts() == alone.counts()
    original = tree_state(bench.scratch)
    assert tree_state(bench.restore(helped)) == original
    plain = tree_state(bench.restore_plain("B"), whole_seconds=True)
    assert plain == tree_state(bench.scratch, whole_seconds=True)


def test_most_frames_come_from_the_packers(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    many(bench)
    packed: list[bool] = []
    real = packers.Packers._result

    def result(self: packers.Packers, bundle: Bundle) -> packers.Frame | None:
        frame = real(self, bundle)
        packed.append(frame is not None)
        return frame

    monkeypatch.setattr(packers.Packers, "_result", result)
    write(bench, "A", 2)
    assert packed.count(False) == 1, "all but the large file"
    assert packed.count(True) > 10


def test_what_killed_packers_had_under_way_is_stored_all_the_same(
    bench: Bench, begun: list[packers.Packers]
) -> None:
    many(bench)

    def kill() -> None:
        for process in begun[0].processes:
            os.kill(process, signal.SIGKILL)

    index = write(bench, "A", 2, kill)
    assert begun[0].processes == []
    assert bench.warnings == []
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)


def test_one_killed_packer_leaves_the_work_to_the_other(
    bench: Bench, begun: list[packers.Packers]
) -> None:
    many(bench)
    index = write(bench, "A", 2, lambda: os.kill(begun[0].processes[0], signal.SIGKILL))
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)


def test_packers_do_not_end_with_a_signal_that_is_sent_to_everybody(
    bench: Bench, begun: list[packers.Packers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm's SIGTERM reaches all of a step; the last backup that follows is the one in a hurry."""
    many(bench)

    def end() -> None:
        for process in begun[0].processes:
            os.kill(process, signal.SIGTERM)

    left: list[int] = []
    real = packers.Packers.close

    def close(self: packers.Packers) -> None:
        left.extend(self.processes)
        real(self)

    monkeypatch.setattr(packers.Packers, "close", close)
    write(bench, "A", 2, end)
    assert len(left) == 2


@pytest.mark.parametrize("gone", ["unlinked", "replaced"])
def test_the_first_name_of_a_file_vanishing_while_another_is_in_a_packers_hands(
    bench: Bench, gone: str
) -> None:
    (bench.work / "a").mkdir()
    first = bench.work / "a" / "first"
    first.write_bytes(b"precious" * 1000)
    many(bench)
    (bench.work / "z").mkdir()
    for name in ("second", "third"):
        os.link(first, bench.work / "z" / name)
    planned = bench.plan()
    first.unlink()
    if gone == "replaced":
        first.mkdir()
    with bench.path("A").open("wb", buffering=0) as out:
        writer.write(planned, out, archive_id="A", warn=bench.warn, threads=2)
    assert verify.verify_archive(bench.path("A")) == []
    index = open_index(bench.path("A"))
    for restored in (bench.restore(index), bench.restore_plain("A")):
        work = restored / "work"
        assert (work / "z" / "second").read_bytes() == b"precious" * 1000
        assert (work / "z" / "second").samefile(work / "z" / "third")
        assert not (work / "a" / "first").exists()


def test_progress_counts_content_and_never_goes_back(bench: Bench) -> None:
    many(bench)
    seen: list[tuple[int, int]] = []
    with bench.path("A").open("wb", buffering=0) as out:
        writer.write(
            bench.plan(), out, archive_id="A", warn=bench.warn, threads=2,
            progress=lambda _phase, files, _of, done, _bytes: seen.append((files, done)),
        )  # fmt: skip
    assert seen == sorted(seen)
    assert seen[0][1] == 0
    assert len(seen) > 10


def test_a_backup_goes_on_alone_where_no_memory_can_be_shared(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, begun: list[packers.Packers]
) -> None:
    many(bench)

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(mmap, "mmap", refuse)
    index = write(bench, "A", 2)
    assert begun[0].processes == []
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)


def test_a_backup_ends_well_where_nobody_waits_for_children(bench: Bench) -> None:
    many(bench)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        index = write(bench, "A", 2)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)


class _FullDisk:
    name = "store/A"

    def __init__(self, begun: list[packers.Packers]) -> None:
        self._begun = begun
        self.processes: list[int] = []

    def write(self, _content: bytes, /) -> int:
        self.processes = self._begun[0].processes
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_backup_that_fails_leaves_no_process(bench: Bench, begun: list[packers.Packers]) -> None:
    many(bench)
    out = _FullDisk(begun)
    with pytest.raises(NoSpace):
        writer.write(bench.plan(), out, archive_id="A", warn=bench.warn, threads=2)
    assert len(out.processes) == 2
    assert not any(Path(f"/proc/{process}").exists() for process in out.processes)


SLOW = """
import sys, time
from pathlib import Path
from scratchflow.archive.write import packer_pool as packers
from scratchflow.archive.write.batches import Bundle
class Slow:
    def pack(self, members, out):
        time.sleep(0.3)
        raise packers.NotPlain
begun = packers.Packers(Slow, 2)
print(*begun.processes, flush=True)
for bundle, frame in begun.pack(Bundle([(0, 0, b"", b"")]) for _ in range(1000)):
    pass
"""


def test_packers_do_not_outlive_the_one_who_asked() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout
        processes = [int(word) for word in asker.stdout.readline().split()]
        asker.kill()
    assert len(processes) == 2
    assert asker.returncode == -signal.SIGKILL, "it was at work"
    wait_until_gone(processes)


class _OneByte:
    """Packs whatever it is."""

    def pack(self, _members: object, out: memoryview) -> tuple[int, int, bytes]:
        out[:1] = b"x"
        return 1, 1, b""


def _bundle(*, fits_frame: bool = True) -> Bundle:
    return Bundle([(0, 0, b"", b"")], fits_frame=fits_frame)


def _one_byte() -> Packing:
    return cast("Packing", _OneByte())


def _under_way(begun: packers.Packers) -> list[int]:
    return [len(packer.waiting) for packer in begun._alive.values()]


def test_work_is_shared_out_late_but_early_before_a_large_file() -> None:
    small = [_bundle() for _ in range(30)]
    with packers.Packers(_one_byte, 2) as begun:
        for _, frame in begun.pack(iter(small)):
            assert frame
            assert max(_under_way(begun)) <= 2
            frame.release()
    with packers.Packers(_one_byte, 2) as begun:
        order = begun.pack(iter([_bundle(fits_frame=False), *small]))
        assert next(order)[1] is None
        assert _under_way(begun) == [4, 4], "there is something to do while it is written"


def test_a_dead_packers_slots_are_used_by_the_others() -> None:
    asked = [_bundle() for _ in range(60)]
    yielded: list[Bundle] = []
    with packers.Packers(_one_byte, 2) as begun:
        every_slot = sorted(begun._free)
        for bundle, frame in begun.pack(iter(asked)):
            if len(yielded) == 10:
                os.kill(begun.processes[0], signal.SIGKILL)
            yielded.append(bundle)
            if frame:
                frame.release()
        assert len(begun.processes) == 1
        while not begun._released.empty():
            begun._free.append(begun._released.get())
        assert sorted(begun._free) == every_slot
    assert list(map(id, yielded)) == list(map(id, asked))


def test_a_long_run_of_large_files_is_not_taken_all_at_once() -> None:
    taken = 0

    def large() -> Iterator[Bundle]:
        nonlocal taken
        for _ in range(2000):
            taken += 1
            yield _bundle(fits_frame=False)

    with packers.Packers(_one_byte, 2) as begun:
        next(begun.pack(large()))
    assert taken < 1000
