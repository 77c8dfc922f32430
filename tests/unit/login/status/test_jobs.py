"""Which job is meant by default, and how it is shown."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.request import job_name
from scratchflow.login import host
from scratchflow.login.current_job import note_current_job
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.look import store_of
from scratchflow.login.status.jobs import (
    allocation_shown,
    elsewhere_shown,
    jobs_seen,
    meant_of,
    open_jobs,
    profile_jobs,
)
from scratchflow.model.allocation import Allocation, AllocationState
from scratchflow.model.requests import OpenJobs
from scratchflow.store.jobs.records import make_job_directory
from scratchflow.testing.slurm import FakeSlurm
from tests.unit.login.status.test_status import Login
from tests.unit.store.jobs.test_records import record


def job(number: int, state: AllocationState, end_time: int | None = None) -> Allocation:
    return Allocation(job_id=number, name="n", state=state, nodes=("n1",), end_time=end_time)


@pytest.mark.parametrize(
    ("states", "noted", "meant"),
    [
        ([], None, None),
        (["ended"], None, None),
        (["running", "pending"], None, 0),
        (["running", "running", "ended"], None, 1),
        (["running", "running", "ended"], 0, 0),
        (["running", "running", "ended"], 1, 1),
        (["ended", "running", "running"], 0, 2),
        (["pending", "ended"], None, 0),
    ],
)
def test_the_one_that_is_worked_in_is_meant_else_the_newest_that_has_a_node_else_one_that_waits(
    states: list[AllocationState], noted: int | None, meant: int | None, login: Login
) -> None:
    jobs = [job(number, state) for number, state in enumerate(states)]
    here = LoginHost(login.settings, login.environment, lambda _: None)
    if noted is not None:
        note_current_job(here, noted)
    assert meant_of(here, jobs) == (None if meant is None else jobs[meant])


def test_the_time_left_is_never_negative_and_an_absurd_end_is_no_end() -> None:
    shown = allocation_shown(job(1, "running", 1_800_000_000), 1_800_000_500.0)
    assert shown
    assert (shown.end_time, shown.seconds_left) == ("2027-01-15T08:00:00Z", 0)
    absurd = allocation_shown(job(1, "running", 10**15), 0.0)
    assert absurd
    assert absurd.end_time is None
    assert allocation_shown(None, 0.0) is None


def test_open_jobs_are_the_profiles_or_all_of_ours_and_never_by_hand(
    held: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeSlurm()
    monkeypatch.setattr(host, "this_slurm", lambda _: Slurm(fake, "alice", "login"))
    login = LoginHost(held.settings, held.environment, lambda _: None)
    ours = fake.add(job_name("test", "abc123"))
    ended = fake.add(job_name("test", "abc124"), state="TIMEOUT")
    other = fake.add(job_name("other", "abc125"), state="PENDING")
    fake.add("bash")
    assert [one.job_id for one in open_jobs(login, OpenJobs()).jobs] == [ours]
    assert [one.job_id for one in open_jobs(login, OpenJobs(any_profile=True)).jobs] == [
        ours,
        other,
    ]
    assert [one.job_id for one in profile_jobs(login)] == [ours, ended]
    assert open_jobs(login, OpenJobs(any_profile=True)).meant == ours
    note_current_job(login, ours)
    next_one = fake.add(job_name("test", "abc126"))
    assert open_jobs(login, OpenJobs()).meant == ours
    note_current_job(login, next_one)
    assert open_jobs(login, OpenJobs()).meant == next_one


def test_with_every_profile_submitted_jobs_that_wait_or_run_are_told_too(
    held: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeSlurm()
    monkeypatch.setattr(host, "this_slurm", lambda _: Slurm(fake, "alice", "login"))
    login = LoginHost(held.settings, held.environment, lambda _: None)
    ours = fake.add(job_name("test", "abc123"))
    other = fake.add(job_name("other", "abc125"))
    waits = fake.add("train:20261115T093000Z-3f2a9c", state="PENDING")
    runs = fake.add("train:20261115T093001Z-3f2a9d")
    fake.add("train:20261115T093002Z-3f2a9e", state="COMPLETED")
    fake.add("train:mine", state="PENDING")
    shown = open_jobs(login, OpenJobs(any_profile=True))
    assert [(one.job_id, one.profile) for one in shown.elsewhere] == [(other, "other")]
    assert [(one.job_id, one.waits) for one in shown.submitted] == [(waits, True), (runs, False)]
    both = open_jobs(login, OpenJobs(others_too=True))
    assert ([one.job_id for one in both.jobs], both.elsewhere, both.submitted) == (
        [ours],
        shown.elsewhere,
        shown.submitted,
    )
    plain = open_jobs(login, OpenJobs())
    assert (plain.elsewhere, plain.submitted) == ([], [])


def test_which_submitted_jobs_are_of_another_profile_is_told(
    held: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeSlurm()
    monkeypatch.setattr(host, "this_slurm", lambda _: Slurm(fake, "alice", "login"))
    login = LoginHost(held.settings, held.environment, lambda _: None)
    mine = fake.add("train:20261115T093000Z-3f2a9c")
    other = fake.add("train:20261115T093001Z-3f2a9d")
    place = store_of(login)
    make_job_directory(place, record("20261115T093000Z-3f2a9c"))
    shown = open_jobs(login, OpenJobs(others_too=True)).submitted
    assert [(one.job_id, one.is_listed) for one in shown] == [(mine, True), (other, False)]
    place.directory.rename(place.directory.with_name("away"))
    shown = open_jobs(login, OpenJobs(others_too=True)).submitted
    assert [one.is_listed for one in shown] == [True, True]


def test_what_other_profiles_hold_is_seen_with_one_question(
    held: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeSlurm()
    monkeypatch.setattr(host, "this_slurm", lambda _: Slurm(fake, "alice", "login"))
    login = LoginHost(held.settings, held.environment, lambda _: None)
    ours = fake.add(job_name("test", "abc123"))
    short = fake.add(job_name("short", "abc124"), nodes="node-2")
    fake.add(job_name("short", "abc125"), state="TIMEOUT")
    fake.add("bash")
    own, others = jobs_seen(login)
    assert [one.job_id for one in own] == [ours]
    (shown,) = elsewhere_shown(others)
    assert (shown.profile, shown.job_id, shown.node) == ("short", short, "node-2")
    assert len([argv for argv in fake.asked if argv[0] == "squeue"]) == 1


def test_one_machine_without_tmux_has_no_job(login: Login) -> None:
    assert profile_jobs(LoginHost(login.settings, login.environment, lambda _: None)) == []
