"""Who watches for hours asks Slurm seldom, reads manifests when they changed, and still sees other commands at once."""

from __future__ import annotations

import os
import time

import msgspec
import pytest

from scratchflow.login.host import LoginHost
from scratchflow.login.status import idle
from scratchflow.login.status.idle import IDLE_S, KnownCatalogue, is_idle, pause, signs_of
from scratchflow.model.results.status import AllocationShown
from scratchflow.process.waiting import Clock
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.directory import StoreDirectory
from tests.unit.login.status.test_status import Login


class Reads:
    """Counts how often the manifests are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        monkeypatch.setattr(idle, "read_catalogue", self._counted)

    def _counted(self, place: StoreDirectory) -> Catalogue:
        self.count += 1
        return read_catalogue(place)


def settle(login: Login) -> None:
    """The store was last changed a minute ago."""
    then_ns = time.time_ns() - 60 * 10**9
    os.utime(login.place.directory, ns=(then_ns, then_ns))


def test_manifests_are_read_again_only_when_their_directory_changed(
    login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, known = Reads(monkeypatch), KnownCatalogue()
    settle(login)
    assert [len(known.read(login.place).snapshots) for _ in range(3)] == [1, 1, 1]
    assert reads.count == 1
    login.desk.write("work/more")
    login.desk.backup()
    assert len(known.read(login.place).snapshots) == 2


def test_a_directory_that_changed_just_now_is_not_trusted(
    login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, known = Reads(monkeypatch), KnownCatalogue()
    os.utime(login.place.directory)
    known.read(login.place)
    known.read(login.place)
    assert reads.count == 2


def held(state: str, left_s: int | None) -> AllocationShown:
    shown = AllocationShown(
        state="running", job_id=7, node="n", partition="p", end_time=None, seconds_left=left_s
    )
    return msgspec.structs.replace(shown, state=state)


@pytest.mark.parametrize(
    ("allocation", "expected"),
    [
        (None, True),
        (held("running", None), True),
        (held("running", 7200), True),
        (held("running", 600), False),
        (held("pending", None), False),
        (held("completing", 7200), False),
    ],
)
def test_idle_is_when_nothing_is_on_its_way(
    login: Login, allocation: AllocationShown | None, expected: bool
) -> None:
    shown = msgspec.structs.replace(login.look(), allocation=allocation)
    assert is_idle(shown) is expected


def paused(signs: list[int], *, is_nothing_on_its_way: bool) -> float:
    """How long the pause is when these are the signs, one look after the other."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    clock = Clock(monotonic=lambda: now[0], sleep=sleep)
    seen = iter(signs)
    pause(lambda: (next(seen),), 5.0, idle=is_nothing_on_its_way, clock=clock)
    return now[0]


def test_slurm_is_asked_once_a_minute_while_nothing_happens() -> None:
    assert paused([1] * 20, is_nothing_on_its_way=True) == IDLE_S
    assert paused([1] * 20, is_nothing_on_its_way=False) == 5.0


def test_what_another_command_leaves_is_seen_at_once() -> None:
    assert paused([1, 1, 2], is_nothing_on_its_way=True) == 10.0


def test_a_backup_is_such_a_sign(login: Login) -> None:
    here = LoginHost(login.settings, login.environment, lambda _: None)
    settle(login)
    before = signs_of(here)
    assert signs_of(here) == before
    login.desk.write("work/more")
    login.desk.backup()
    assert signs_of(here) != before
