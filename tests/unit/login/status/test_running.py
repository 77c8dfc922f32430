"""What `status` says of a command that runs: the verb, the host, and since when."""

from __future__ import annotations

import time

from scratchflow.login.status.running import running_shown
from scratchflow.store.lock.owner import this_process
from scratchflow.testing.store import make_lock
from tests.unit.login.status.test_status import Login


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
