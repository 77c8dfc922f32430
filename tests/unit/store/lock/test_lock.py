"""The lock: who may take it, when a silent owner counts as dead, and how a loser finds out."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.store import LockLost, NoSpace, StoreLocked
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.lock.chain import read_head, set_aside
from scratchflow.store.lock.lock import LockTiming, StoreLock
from scratchflow.store.lock.owner import Process, this_process
from scratchflow.testing.store import FakeClock, make_lock

ELSEWHERE = Process(host="n2", boot_id="b", pid_namespace="p", pid=77, start_ticks=5)
START = 1_800_000_000.0


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


@pytest.fixture
def time() -> FakeClock:
    return FakeClock(START)


def dead_process() -> Process:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return msgspec.structs.replace(this_process(), pid=child.pid, start_ticks=1)


def test_only_one_holds_it_and_the_other_learns_who(place: StoreDirectory, time: FakeClock) -> None:
    with make_lock(place, process=ELSEWHERE, clock=time.clock, doing="prune").acquired():
        with pytest.raises(StoreLocked) as caught:
            make_lock(place, clock=time.clock).acquired()
        assert str(caught.value) == (
            "the store is in use by `prune` on n2 (process 77) since 2027-01-15T08:00:00Z"
        )
        assert "5m" in caught.value.shown_hint
    make_lock(place).acquired().release()
    assert not place.lock.exists()


def test_waiting_ends_when_the_owner_releases(place: StoreDirectory, time: FakeClock) -> None:
    holder = make_lock(place, clock=time.clock).acquired()
    time.on_sleep = lambda: holder.release() if time.seconds >= START + 5 else None
    waiter = make_lock(place, clock=time.clock).acquired(wait_s=60)
    waiter.assert_held()
    assert START + 5 <= time.seconds < START + 10
    waiter.release()


def test_waiting_ends_at_the_deadline(place: StoreDirectory, time: FakeClock) -> None:
    with make_lock(place, clock=time.clock).acquired():
        with pytest.raises(StoreLocked):
            make_lock(place, clock=time.clock).acquired(wait_s=10.5)
        assert time.seconds == START + 10.5


def test_a_lock_is_not_stale_before_its_time(place: StoreDirectory, time: FakeClock) -> None:
    silent = make_lock(place, process=ELSEWHERE, clock=time.clock).acquired()
    time.pass_by(299)
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired()
    silent.release()


def test_a_silent_owner_is_taken_over_and_finds_out(place: StoreDirectory, time: FakeClock) -> None:
    silent = make_lock(place, process=ELSEWHERE, clock=time.clock).acquired()
    time.pass_by(301)
    successor = make_lock(place, clock=time.clock, doing="backup").acquired(wait_s=120)
    assert not successor.took_over_from_dead
    with pytest.raises(LockLost, match="taken over by `backup`"):
        silent.assert_held()
    silent.release()
    successor.assert_held()
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired()
    successor.release()
    assert not place.lock.exists()


def test_a_heartbeat_keeps_the_lock(place: StoreDirectory, time: FakeClock) -> None:
    holder = make_lock(place, process=ELSEWHERE, clock=time.clock).acquired()
    for _ in range(10):
        time.pass_by(200)
        holder.assert_held()  # beats
        with pytest.raises(StoreLocked):
            make_lock(place, clock=time.clock).acquired()
    holder.release()


def test_the_heartbeat_thread_beats_by_itself(place: StoreDirectory) -> None:
    beaten = threading.Event()
    beats = 0

    def touch(_: int | Path) -> None:
        nonlocal beats
        beats += 1
        if beats > 5:
            beaten.set()

    clock = msgspec.structs.replace(FakeClock(START).clock, touch=touch)
    with make_lock(place, clock=clock, timing=LockTiming(heartbeat_s=0.001)).acquired():
        assert beaten.wait(60)
    head_threads = [one for one in threading.enumerate() if "heartbeat" in one.name]
    assert head_threads == []


def test_ones_own_lock_is_never_stale(place: StoreDirectory, time: FakeClock) -> None:
    lock = make_lock(place, clock=time.clock).acquired()
    time.pass_by(10_000)
    lock.assert_held()
    assert lock.acquired() is lock
    lock.release()


def test_a_lock_from_the_future_is_not_stale(place: StoreDirectory, time: FakeClock) -> None:
    ahead = FakeClock(START + 3600)
    holder = make_lock(place, process=ELSEWHERE, clock=ahead.clock).acquired()
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired()
    holder.release()


def test_a_lock_with_files_but_no_owner_is_taken_over_after_a_grace(
    place: StoreDirectory, time: FakeClock
) -> None:
    """An older scratchflow was killed before it linked its owner file."""
    place.lock.mkdir()
    (place.lock / ".tmp-half").touch()
    with pytest.raises(StoreLocked, match="just starting") as caught:
        make_lock(place, clock=time.clock).acquired()
    assert "1m" in caught.value.shown_hint
    with make_lock(place, clock=time.clock).acquired(wait_s=120) as lock:
        lock.assert_held()
    assert 60 <= time.elapsed < 65
    assert not place.lock.exists()


def test_an_unreadable_owner_file_is_taken_over_after_a_grace(
    place: StoreDirectory, time: FakeClock
) -> None:
    for content in (b"", b"{", b'{"token": "../../x"}'):
        place.lock.mkdir()
        (place.lock / "owner.json").write_bytes(content)
        with pytest.raises(StoreLocked):
            make_lock(place, clock=time.clock).acquired()
        make_lock(place, clock=time.clock).acquired(wait_s=120).release()
        assert not place.lock.exists()


def test_a_removed_lock_is_noticed(place: StoreDirectory) -> None:
    lock = make_lock(place).acquired()
    (place.lock / "owner.json").unlink()
    place.lock.rmdir()
    with pytest.raises(LockLost, match="removed"):
        lock.assert_held()
    with make_lock(place).acquired() as other:
        lock.release()
        other.assert_held()


def test_release_puts_back_a_lock_that_was_taken_over_in_that_instant(
    place: StoreDirectory, time: FakeClock
) -> None:
    silent = make_lock(place, process=ELSEWHERE, clock=time.clock).acquired()
    token = owner_token(place)
    time.pass_by(301)
    with make_lock(place, clock=time.clock).acquired(wait_s=120) as successor:
        set_aside(place.directory, place.lock, token)
        successor.assert_held()
    silent.release()


def owner_token(place: StoreDirectory) -> str:
    head = read_head(place.lock)
    assert head is not None
    assert head.owner is not None
    return head.owner.token


def test_a_late_claim_on_a_lock_that_was_replaced_holds_nothing(
    place: StoreDirectory, time: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner it wanted to succeed is gone by then, and a new one holds the lock."""
    old = make_lock(place, process=ELSEWHERE, clock=time.clock).acquired()
    time.pass_by(301)
    new: list[StoreLock] = []
    late = make_lock(place, clock=time.clock)
    owner_of_late = late._owner

    def replaced_meanwhile() -> object:
        if not new:
            old.release()
            new.append(make_lock(place, clock=time.clock).acquired())
        return owner_of_late()

    monkeypatch.setattr(late, "_owner", replaced_meanwhile)
    with pytest.raises(StoreLocked):
        late.acquired(wait_s=70)
    new[0].assert_held()
    new[0].release()
    assert not place.lock.exists()


def test_a_full_disk_leaves_no_half_made_lock(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(NoSpace):
        make_lock(place).acquired()
    assert os.listdir(place.directory) == []


def test_releasing_twice_is_harmless(place: StoreDirectory) -> None:
    lock = make_lock(place).acquired()
    lock.release()
    lock.release()
    with pytest.raises(LockLost):
        lock.assert_held()


def test_one_whose_job_is_over_is_taken_over_after_two_missed_beats(
    place: StoreDirectory, time: FakeClock
) -> None:
    def lock(job_id: int, over: set[int]) -> StoreLock:
        return StoreLock(
            place,
            msgspec.structs.replace(ELSEWHERE, host=f"n{job_id}"),
            token=f"{job_id:032x}",
            doing="backup",
            job_id=job_id,
            is_job_over=lambda number: number in over,
            clock=time.clock,
        )

    held = lock(7, set()).acquired()
    with pytest.raises(StoreLocked):
        lock(8, {7}).acquired()  # a beat ago it lived, whatever became of its job
    time.pass_by(LockTiming().job_over_after_s + 1)
    with pytest.raises(StoreLocked):
        lock(8, {6}).acquired()
    successor = lock(9, {7}).acquired()
    with pytest.raises(LockLost):
        held.assert_held()
    successor.release()


def test_an_empty_lock_directory_is_taken_at_once(place: StoreDirectory) -> None:
    """What a run leaves that was killed between `mkdir lock.d` and its owner file."""
    place.lock.mkdir()
    with make_lock(place).acquired() as lock:
        lock.assert_held()
    assert not place.lock.exists()


def test_the_lock_directory_is_never_seen_without_its_owner(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    for name in ("mkdir", "open", "write", "fsync", "utime", "rename", "link"):
        real = getattr(os, name)

        def look(*args: object, real: Callable[..., object] = real, **options: object) -> object:
            done = real(*args, **options)
            if place.lock.exists():
                seen.append((place.lock / "owner.json").exists())
            return done

        monkeypatch.setattr(os, name, look)
    make_lock(place).acquired().release()
    assert seen
    assert all(seen)


@pytest.mark.parametrize("number", [errno.EPERM, errno.EEXIST, errno.EACCES])
def test_an_empty_lock_directory_that_cannot_be_renamed_over_is_removed_first(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """SFTP without `posix-rename` refuses to rename onto anything."""
    rename = os.rename

    def refuse(source: Path, target: Path) -> None:
        if os.path.lexists(target):
            raise OSError(number, os.strerror(number))
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    place.lock.mkdir()
    make_lock(place).acquired().release()
    assert os.listdir(place.directory) == []


def test_a_rename_whose_answer_was_lost_still_gives_the_lock(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS carries a request out, loses the answer and sends it again: the source is gone by then."""
    rename = os.rename

    def twice(source: Path, target: Path) -> None:
        rename(source, target)
        monkeypatch.setattr(os, "rename", rename)
        rename(source, target)

    monkeypatch.setattr(os, "rename", twice)
    with make_lock(place).acquired() as lock:
        lock.assert_held()


def test_a_lock_that_another_host_has_just_replaced_is_looked_at_again(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GlusterFS and NFS say ESTALE for a name that they remember and that leads elsewhere by now."""
    opened, stale = os.open, iter([True, True])

    def once_stale(path: Path, *args: int) -> int:
        if str(path).endswith("owner.json") and next(stale, False):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return opened(path, *args)

    with make_lock(place, process=ELSEWHERE).acquired():
        monkeypatch.setattr(os, "open", once_stale)
        with pytest.raises(StoreLocked, match="n2"):
            make_lock(place).acquired()


def test_an_open_lock_that_another_host_gave_back_is_looked_at_again(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sshfs says ENOENT of an open file whose name is gone."""
    looked, gone = os.fstat, iter([True, True])

    def once_gone(descriptor: int) -> os.stat_result:
        if next(gone, False):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return looked(descriptor)

    with make_lock(place, process=ELSEWHERE).acquired():
        monkeypatch.setattr(os, "fstat", once_gone)
        with pytest.raises(StoreLocked, match="n2"):
            make_lock(place).acquired()
