"""One auto-backup a node, and it is the right one."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading

import pytest

from scratchflow.node.autobackup import only_one as module
from scratchflow.node.autobackup.only_one import only_one
from scratchflow.store.directory import open_place
from tests.unit.conftest import Desk

# Holds the lock as a loop does, and ends when it is told to.
_HOLDER = """
import fcntl, json, os, signal, sys
lock = open(sys.argv[1], "w+")
fcntl.flock(lock, fcntl.LOCK_EX)
json.dump({"pid": os.getpid(), "store": sys.argv[2]}, lock)
lock.flush()
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))
print("holds it", flush=True)
signal.pause()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("store", "code"), [("other", 7), ("own", None)])
def test_one_that_saves_to_another_store_is_ended_and_no_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, store: str, code: int | None
) -> None:
    place = open_place(desk.context.store, desk.context.workspace.name)
    desk.context.workspace.state.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(module, "_TAKE_TURNS_S", 20.0 if code else 0.5)
    lock = desk.context.workspace.state / "autobackup.lock"
    directory = str(place.directory) if store == "own" else "/another/store/work"
    command = [sys.executable, "-c", _HOLDER, str(lock), directory, "agent"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        holder.stdout.readline()
        with only_one(desk.context, place, "") as alone:
            assert alone is (code is not None)
        assert holder.poll() == code
        holder.kill()


def test_it_runs_also_on_a_full_scratch(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    place = open_place(desk.context.store, desk.context.workspace.name)
    monkeypatch.setattr(os, "pwrite", full)
    with only_one(desk.context, place, "") as alone:
        assert alone


def test_one_of_a_job_before_is_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    place = open_place(desk.context.store, desk.context.workspace.name)
    before = only_one(desk.context, place, "")
    assert before.__enter__()
    monkeypatch.setattr(module, "_LOOK_S", 0.01)
    ends = threading.Timer(0.1, before.__exit__, (None, None, None))
    ends.start()
    with only_one(desk.context, place, "") as alone:
        assert alone
