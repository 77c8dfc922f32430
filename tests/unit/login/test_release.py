"""A job that Slurm was told to end is waited for, and not for ever."""

from __future__ import annotations

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.login import release
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation
from scratchflow.model.errors import AllocationLingers
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
