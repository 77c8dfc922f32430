"""`status --all` and `snapshots list --all-profiles`, as they are typed: real stores, and a login host that is away."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


class Machine:
    """Two profiles of this machine, each with a snapshot, and one whose host refuses."""

    def __init__(self, home: Path) -> None:
        self.home = home
        ssh = home / ".ssh"
        ssh.mkdir(mode=0o700)
        with socket.socket() as free:  # bound, never listening, and closed: nobody answers there
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (ssh / "config").write_text(f"Host away\n  HostName 127.0.0.1\n  Port {port}\n")
        self.file = home / "config.toml"
        self.file.write_text("".join([*map(self._local, ("one", "two")), self._away()]))

    def _local(self, name: str) -> str:
        paths = f'scratch = "{self.home}/{name}"\nstore = "{self.home}/store-{name}"\n'
        return f'[profiles.{name}]\nlogin = "local"\nscheduler = "none"\n{paths}'

    def _away(self) -> str:
        return f'[profiles.gone]\nlogin = "away"\nssh_config = "{self.home}/.ssh/config"\n'

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "scratchflow", "--config", str(self.file), *words]
        environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)

    def last(self, *words: str) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self.run(*words, "--json").stdout.splitlines()[-1])
        return line

    def saved(self, name: str) -> str:
        for words in (("create",), ("backup", "-m", f"of {name}")):
            done = self.last("-p", name, *words)
            assert done["type"] == "summary", done
        snapshot: str = done["data"]["snapshot"]
        return snapshot


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_snapshots_of_all_are_listed_and_the_host_that_is_away_is_named(machine: Machine) -> None:
    saved = {name: machine.saved(name) for name in ("one", "two")}
    done = machine.last("snapshots", "list", "--all-profiles")
    assert (done["type"], done["exit_code"]) == ("summary", 14), done
    found = {one["profile"]: one["snapshots"][-1]["id"] for one in done["data"]["profiles"]}
    assert found == saved
    (failed,) = done["data"]["failed"]
    assert (failed["profile"], failed["login"]) == ("gone", "away")
    assert failed["code"] == "connection.lost"

    shown = machine.run("snapshots", "list", "--all-profiles")
    assert shown.returncode == 14
    assert [line for line in shown.stdout.splitlines() if line.endswith(":")] == [
        "one (local):",
        "two (local):",
    ]
    assert '"of two"' in shown.stdout
    assert "✗ gone (away): no connection" in shown.stdout


def test_the_status_of_all_is_one_view_whose_commands_name_the_profile(machine: Machine) -> None:
    machine.saved("one")
    done = machine.last("status", "--all")
    assert done["exit_code"] == 14
    assert [one["profile"] for one in done["data"]["profiles"]] == ["one", "two"]
    assert [one["profile"] for one in done["data"]["failed"]] == ["gone"]
    shown = machine.run("status", "--all").stdout.splitlines()
    assert shown[0].startswith("one: ")
    assert "snapshots none yet" in next(line for line in shown if line.startswith("two: "))
    listed = machine.run("snapshots", "list", "--all-profiles").stdout
    assert f"`scratchflow --config {machine.file} -p two backup`" in " ".join(listed.split())


@pytest.mark.parametrize(
    "words",
    [
        ("status", "--all", "--fix"),
        ("status", "--all", "--watch"),
        ("-p", "one", "status", "--all"),
        ("snapshots", "list", "--all-profiles", "-p", "one"),
    ],
)
def test_what_is_for_one_profile_is_refused(machine: Machine, words: tuple[str, ...]) -> None:
    done = machine.last(*words)
    assert (done["code"], done["exit_code"]) == ("usage.invalid", 2)
    assert "for one profile" in done["message"]
