"""`scheduler = "none"`: the verbs of the cluster on one machine that has tmux and no ssh, or neither."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scratchflow.process.waiting import looks

ROOT = Path(__file__).resolve().parents[2]


class Machine:
    """The real program with a home, a PATH and a tmux server of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.programs = directory / "bin"
        for made in (self.programs, directory / "tmux"):
            made.mkdir(mode=0o700)
        for name in ("sh", "bash", "tmux"):
            found = shutil.which(name)
            assert found
            (self.programs / name).symlink_to(found)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in {"LANG", "TERM"}}
        tmux = str(self.directory / "tmux")
        home = str(self.directory)
        return {**kept, "HOME": home, "PATH": str(self.programs), "TMUX_TMPDIR": tmux}

    def outcome(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "scratchflow", *arguments, "--json"],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        assert last["exit_code"] == done.returncode
        return last

    def data(self, *arguments: str) -> dict[str, Any]:
        last = self.outcome(*arguments)
        assert last["type"] == "summary", last
        found: dict[str, Any] = last["data"]
        return found

    def tmux(self, socket: str, *arguments: str) -> str:
        argv = ["tmux", "-L", socket, *arguments]
        done = subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.stdout


@pytest.fixture
def machine() -> Iterator[Machine]:
    # A short path: tmux's socket lies in it.
    directory = Path(tempfile.mkdtemp(prefix="machine-"))
    made = Machine(directory)
    yield made
    (made.programs / "tmux").unlink(missing_ok=True)
    (made.programs / "tmux").symlink_to(shutil.which("tmux") or "tmux")
    for socket in ("scratchflow", "default"):
        made.tmux(socket, "kill-server")
    shutil.rmtree(directory)


def test_the_session_is_the_allocation_from_allocate_to_clear(machine: Machine) -> None:
    machine.tmux("default", "new-session", "-d", "-s", "scratchflow")
    assert machine.data("allocate", "--dry-run")["command"].startswith("tmux -L scratchflow new")
    assert machine.tmux("scratchflow", "list-sessions") == ""

    got = machine.data("allocate")
    assert (got["job_id"], got["reused"], got["alias"]) == (None, False, None)
    assert machine.data("allocate")["reused"] is True
    seen = machine.data("status")
    assert (seen["allocation"]["state"], seen["allocation"]["node"]) == ("running", got["node"])
    assert (seen["alias"], seen["problems"]) == (None, [])
    shown = machine.data("attach")["command"]
    assert shown == ["tmux", "-L", "scratchflow", "attach-session", "-t", "=scratchflow"]
    assert all(check["ok"] for check in machine.data("doctor")["checks"])

    machine.data("create")
    result = machine.data("clear", "--dry-run")["commands"]
    assert result == ["scratchflow backup", "tmux -L scratchflow kill-session -t =scratchflow"]
    cleared = machine.data("clear")
    assert (cleared["released"], cleared["session_ended"]) == (True, True)
    assert cleared["snapshot"] == machine.data("snapshots", "list")["snapshots"][-1]["id"]
    assert machine.tmux("scratchflow", "list-sessions") == ""
    assert machine.tmux("default", "list-sessions").startswith("scratchflow:")

    assert machine.data("status")["allocation"] is None
    assert machine.data("clear")["released"] is False
    assert machine.data("clear", "--dry-run")["commands"] == ["scratchflow backup"]
    assert machine.outcome("attach")["exit_code"] == 25


def test_without_tmux_what_needs_it_says_so_and_the_rest_works(machine: Machine) -> None:
    (machine.programs / "tmux").unlink()
    for verb in ("allocate", "attach"):
        refused = machine.outcome(verb)
        assert (refused["code"], refused["exit_code"]) == ("tmux.failed", 26)
        assert "install tmux" in refused["hint"]
    machine.data("create")
    seen = machine.data("status")
    assert (seen["allocation"], seen["snapshots"]["count"]) == (None, 1)
    assert machine.data("clear")["released"] is False
    (amiss,) = [check for check in machine.data("doctor")["checks"] if not check["ok"]]
    assert (amiss["name"], "install tmux" in amiss["fix"]) == ("tmux", True)


def problems(machine: Machine) -> list[str]:
    return [problem["name"] for problem in machine.data("status")["problems"]]


def test_the_auto_backup_is_shown_while_it_runs_and_takes_over_changed_settings(
    machine: Machine,
) -> None:
    machine.data("create")
    assert machine.data("autobackup", "on")["changed"] is True
    try:
        # No session was ever made: the loop runs without one.
        assert machine.data("status")["autobackup"]["enabled"] is True
        assert (problems(machine), machine.data("autobackup", "on")["changed"]) == ([], False)
        machine.data("config", "set", "backup.also", '["env"]')
        assert problems(machine) == ["autobackup.other_settings"]
        assert machine.data("autobackup", "on")["changed"] is True
        assert problems(machine) == []
    finally:
        assert machine.data("autobackup", "off")["changed"] is True
    assert machine.data("status")["autobackup"]["enabled"] is False


def test_doctor_and_status_say_that_a_deleted_workspace_is_gone(machine: Machine) -> None:
    path = Path(machine.data("create")["path"])
    path.rmdir()
    checks = {check["name"]: check for check in machine.data("doctor")["checks"]}
    assert checks["workspace"]["ok"] is False
    assert machine.data("status")["workspace"]["exists"] is False


def test_autobackup_on_tells_why_the_loop_did_not_start(machine: Machine) -> None:
    path = machine.data("create")["path"]
    machine.data("config", "set", "store", f"{path}/store")
    assert machine.outcome("autobackup", "on")["code"] == "store.overlaps"


def test_autobackup_on_writes_nothing_to_a_store_that_is_another_one(machine: Machine) -> None:
    machine.data("create")
    machine.data("backup")
    store = next(machine.directory.rglob("store.json")).parent.parent
    store.rename(store.with_name("away"))
    store.mkdir(mode=0o700)
    assert machine.outcome("autobackup", "on")["code"] == "store.replaced"
    assert list(store.iterdir()) == []
    assert problems(machine) == ["store.replaced"]


def pane(machine: Machine, wanted: str) -> str:
    """What tmux says of the window's shell."""
    return machine.tmux("scratchflow", "display-message", "-p", "-t", "=scratchflow:", wanted)


def look_at(machine: Machine, command: list[str]) -> None:
    """A terminal shows the session, until its user leaves it."""
    child, descriptor = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, {**machine.environment, "TERM": "xterm"})  # noqa: S606 - a terminal is what is tried
    try:
        for _ in looks(60, 0.05):
            if pane(machine, "#{session_attached}") == "1\n":
                break
        machine.tmux("scratchflow", "detach-client", "-s", "=scratchflow")
        with suppress(OSError):  # the terminal is gone
            while os.read(descriptor, 1 << 16):
                pass
    finally:
        os.waitpid(child, 0)
        os.close(descriptor)


def starts_in(machine: Machine, directory: Path) -> bool:
    wanted = f"{directory}\n"
    return any(pane(machine, "#{pane_current_path}") == wanted for _ in looks(60, 0.05))


def test_attach_starts_in_the_workspace_and_leaves_a_shell_that_was_used(machine: Machine) -> None:
    machine.data("allocate")
    work = Path(machine.data("create")["path"])
    attach = machine.data("attach")["command"]
    assert starts_in(machine, work)
    look_at(machine, attach)
    used = pane(machine, "#{pane_pid}")
    assert machine.data("attach")["command"] == attach
    assert pane(machine, "#{pane_pid}") == used
