"""What `status` says of a command that runs: the verb, the host, and since when."""

from __future__ import annotations

import os
import time

import msgspec
import pytest

from scratchflow.login.status import status as looking
from scratchflow.login.status.running import running_shown
from scratchflow.store.lock.owner import this_process
from scratchflow.testing.store import make_lock
from tests.unit.login.status.test_status import JOB, Login


def test_a_backup_that_runs_is_in_the_status_until_it_ends(held: Login) -> None:
    assert held.look().running is None
    with make_lock(held.place, doing="scratchflow backup").acquired():
        running = held.look().running
        assert running is not None
        assert (running.doing, running.host) == ("backup", this_process().host)
        assert running.since
    assert running_shown(held.place, time.time()) is None


def test_a_lock_that_cannot_be_looked_into_hides_nothing_else(held: Login) -> None:
    before = held.look()
    held.place.lock.mkdir(mode=0o000)
    try:
        shown = held.look()
    finally:
        held.place.lock.chmod(0o700)
    assert shown.running is None
    assert (shown.problems, shown.autobackup) == (before.problems, before.autobackup)


@pytest.mark.parametrize("state", ["running", "ended"])
def test_a_backup_that_died_with_its_node_is_not_shown_once_the_job_has_ended(
    held: Login, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    job = msgspec.structs.replace(JOB, state=state)
    monkeypatch.setattr(looking, "jobs_seen", lambda _: ([job], []))
    elsewhere = msgspec.structs.replace(this_process(), host="node-1", boot_id="another")
    with make_lock(held.place, process=elsewhere, job_id=job.job_id).acquired():
        (owner,) = held.place.lock.iterdir()
        silent_since_s = time.time() - 100
        os.utime(owner, (silent_since_s, silent_since_s))
        assert (held.look().running is None) == (state == "ended")
