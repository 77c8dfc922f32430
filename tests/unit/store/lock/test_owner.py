"""Who is dead, as far as this process can prove it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.store import StoreLocked
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.lock.owner import Owner, Process, is_proven_dead, this_process
from scratchflow.testing.store import FakeClock, make_lock

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


def test_a_dead_owner_on_this_host_is_taken_over_at_once(
    place: StoreDirectory, time: FakeClock
) -> None:
    dead = make_lock(place, process=dead_process(), clock=time.clock).acquired()
    with make_lock(place, clock=time.clock).acquired() as successor:
        assert successor.took_over_from_dead
    dead.release()


def test_a_reused_pid_is_not_the_owner(place: StoreDirectory, time: FakeClock) -> None:
    former = msgspec.structs.replace(this_process(), start_ticks=this_process().start_ticks - 1)
    first = make_lock(place, process=former, clock=time.clock).acquired()
    make_lock(place, clock=time.clock).acquired().release()
    first.release()


@pytest.mark.parametrize(
    "change",
    [{"host": "n9"}, {"boot_id": "other"}, {"pid_namespace": "other"}, {"start_ticks": 0}],
)
def test_a_pid_of_elsewhere_proves_nothing(
    place: StoreDirectory, time: FakeClock, change: dict[str, str]
) -> None:
    foreign = msgspec.structs.replace(dead_process(), **change)
    holder = make_lock(place, process=foreign, clock=time.clock).acquired()
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired()
    holder.release()


def test_a_zombie_is_dead(place: StoreDirectory, time: FakeClock) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{child.pid}/stat")
    ticks = int(stat.read_text().rpartition(")")[2].split()[19])
    zombie = msgspec.structs.replace(this_process(), pid=child.pid, start_ticks=ticks)
    held = make_lock(place, process=zombie, clock=time.clock).acquired()
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    make_lock(place, clock=time.clock).acquired().release()
    child.communicate()
    held.release()


def test_this_process_is_alive_to_itself_and_told_in_words() -> None:
    me = this_process()
    owner = Owner(
        **msgspec.structs.asdict(me), token="0" * 32, job_id=7, since="noon", doing="prune"
    )
    assert not is_proven_dead(owner, me)
    assert owner.in_words() == f"`prune` on {me.host} (process {me.pid}, job 7) since noon"
    without_job = msgspec.structs.replace(owner, job_id=None)
    assert "job" not in without_job.in_words()


def test_a_system_that_tells_nothing_proves_nothing() -> None:
    gone = dead_process()
    owner = Owner(**msgspec.structs.asdict(gone), token="0" * 32, job_id=None, since="", doing="")
    assert is_proven_dead(owner, this_process())
    blind = msgspec.structs.replace(this_process(), boot_id="", pid_namespace="")
    nobody = msgspec.structs.replace(owner, boot_id="", pid_namespace="")
    assert not is_proven_dead(nobody, blind)


def test_a_process_may_have_any_name() -> None:
    script = "import ctypes; ctypes.CDLL(None).prctl(15, b') Z 1 (', 0, 0, 0); print(); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        child.stdout.readline()
        stat = Path(f"/proc/{child.pid}/stat").read_text()
        assert ") Z 1 (" in stat
        process = msgspec.structs.replace(
            this_process(), pid=child.pid, start_ticks=int(stat.rpartition(")")[2].split()[19])
        )
        owner = Owner(
            **msgspec.structs.asdict(process), token="0" * 32, job_id=None, since="", doing=""
        )
        assert not is_proven_dead(owner, this_process())
        child.communicate(b"\n")
