"""A job that Slurm was told to end is waited for, and not for ever."""

from __future__ import annotations

import signal

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.login import release
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation
from scratchflow.model.errors.allocation import AllocationLingers
from scratchflow.model.requests import Release
from scratchflow.process.waiting import Clock

JOB = Allocation(job_id=7, name="scratchflow:local:x", state="running", nodes=("node-1",))


class Host:
    """A login host whose time passes when it sleeps; the job ends after so many looks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, looks: float) -> None:
        self.now_s = 0.0
        self.looks_left = looks
        monkeypatch.setattr(release, "our_jobs", self._our_jobs)
        clock = Clock(lambda: self.now_s, self._sleep)
        self.login = LoginHost(load_settings(Asked(), {}), {}, lambda _: None, clock)

    def _sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def _our_jobs(self, *_: object) -> list[Allocation]:
        self.looks_left -= 1
        return [JOB] if self.looks_left >= 0 else []


def test_its_end_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(monkeypatch, looks=3)
    release._wait_for_end(host.login, [7])
    assert 0 < host.now_s < release.END_S


def test_one_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(monkeypatch, looks=float("inf"))
    with pytest.raises(AllocationLingers, match="7"):
        release._wait_for_end(host.login, [7])
    assert host.now_s >= release.END_S


class OneSession:
    """A tmux server with one session; its name is not the one that the profile says."""

    def session(self, _: str) -> str:
        return "scratchflow-gpu"


def test_a_dry_run_names_the_session_that_would_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(monkeypatch, looks=float("inf"))
    monkeypatch.setattr(LoginHost, "has_tmux", True)
    monkeypatch.setattr(LoginHost, "tmux", OneSession())
    done = release.release_node(host.login, Release(job_ids=(7,), dry_run=True))
    assert done.commands == ["scancel 7", "tmux -L scratchflow kill-session -t =scratchflow-gpu"]


def test_what_waits_is_withdrawn_alone_and_the_session_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = Host(monkeypatch, looks=float("inf"))
    waits = Allocation(job_id=8, name="scratchflow:local:x", state="pending")
    monkeypatch.setattr(release, "our_jobs", lambda *_: [JOB, waits])
    monkeypatch.setattr(LoginHost, "has_tmux", True)
    monkeypatch.setattr(LoginHost, "tmux", OneSession())
    done = release.release_node(host.login, Release(pending=True, dry_run=True))
    assert done.commands == ["scancel 8"]


def test_a_command_that_ends_its_own_job_lives_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    said: list[object] = []
    host = Host(monkeypatch, looks=2)
    login = LoginHost(
        host.login.settings, {"SLURM_JOB_ID": "7"}, said.append, clock=host.login.clock
    )
    ended: list[int] = []

    def slurm_ends_us(_: object, number: int, __: str) -> None:
        signal.raise_signal(signal.SIGTERM)
        ended.append(number)

    monkeypatch.setattr(release, "cancel", slurm_ends_us)
    monkeypatch.setattr(release, "tell_job_ends", lambda *_: None)
    try:
        done = release.release_node(login, Release(job_ids=(7,), end_session=False))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert (done.job_ids, ended) == ([7], [7])
    assert "ends with it" in str(said)
