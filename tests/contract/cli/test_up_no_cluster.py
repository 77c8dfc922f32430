"""`up` and `setup` on a machine that knows no cluster: nothing is begun that nobody asked for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import CTRL_D, ENTER, LARGE, SMALL, Terminal

ROOT = Path(__file__).resolve().parents[3]
SIZES = pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])


class Machine:
    """The real program with a home and a tmux server of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "tmux").mkdir(mode=0o700)
        path = os.environ["PATH"]
        self.environment = {"HOME": str(home), "PATH": path, "TMUX_TMPDIR": str(home / "tmux")}

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "scratchflow", *arguments]

    def outcome(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            self.argv("--json", *arguments),
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

    def said(self, *arguments: str) -> str:
        """Everything that a person reads."""
        done = subprocess.run(
            self.argv(*arguments),
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr + done.stdout

    def terminal(self, size: tuple[int, int], *arguments: str) -> Terminal:
        return Terminal(self.argv(*arguments), self.environment, size=size, cwd=ROOT)

    @property
    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*"))


@pytest.fixture
def machine() -> Iterator[Machine]:
    home = Path(tempfile.mkdtemp(prefix="m-"))  # short: the path of tmux's socket has a limit
    machine = Machine(home)
    yield machine
    if machine.files != ["tmux"]:  # otherwise nothing was begun
        machine.outcome("autobackup", "off")
        machine.outcome("clear", "--no-backup")
    shutil.rmtree(home, ignore_errors=True)


def test_up_without_a_terminal_refuses_and_leaves_nothing(machine: Machine) -> None:
    refused = machine.outcome("up")
    assert (refused["code"], refused["exit_code"]) == ("config.no_cluster", 10)
    assert "scratchflow up LOGIN" in refused["hint"]
    assert "scratchflow up --local" in refused["hint"]
    assert machine.files == ["tmux"]


@SIZES
def test_up_in_a_terminal_says_so_and_asks(machine: Machine, size: tuple[int, int]) -> None:
    with machine.terminal(size, "up") as terminal:
        rows = terminal.wait_for_question("What would you like to do? [1]:")
        assert rows == [
            "No cluster is set up on this machine yet.",
            "  1  set up a cluster",
            "  2  work on this machine alone, without a cluster",
            "What would you like to do? [1]:",
        ]
        assert machine.files == ["tmux"]
        terminal.press(f"2{ENTER}")
        assert terminal.end() == 0
    assert (machine.home / ".local/share/scratchflow/scratch/work").is_dir()


def test_who_works_without_a_cluster_is_not_asked_again(machine: Machine) -> None:
    assert machine.outcome("up", "--local")["type"] == "summary"
    assert machine.outcome("up")["type"] == "summary"


@SIZES
def test_status_says_how_to_begin(machine: Machine, size: tuple[int, int]) -> None:
    with machine.terminal(size, "status") as terminal:
        assert terminal.end() == 0
        text = " ".join(" ".join(terminal.all_rows).split())
    assert "Next: `scratchflow up LOGIN` sets a cluster up" in text
    assert "`scratchflow up --local` works on this machine alone" in text
    assert "scratchflow create" not in text


@pytest.mark.parametrize("verb", [("backup",), ("restore",), ("snapshots", "list")])
def test_other_commands_say_that_no_cluster_is_set_up(
    machine: Machine, verb: tuple[str, ...]
) -> None:
    assert "`scratchflow up LOGIN` sets a cluster up" in machine.said(*verb)
    assert "up LOGIN" not in machine.said("-p", "local", *verb)


def test_up_local_says_how_to_reach_it_later(machine: Machine) -> None:
    assert "`scratchflow -p local status`" in machine.said("up", "--local")
    for verb in (("status",), ("backup",)):  # whoever has begun is not told again
        assert "up LOGIN" not in machine.said(*verb)


def test_local_and_a_login_host_contradict_each_other(machine: Machine) -> None:
    assert machine.outcome("up", "login", "--local")["exit_code"] == 2


@pytest.mark.parametrize("flags", [(), ("--yes",)])
def test_a_dry_run_sets_nothing_up(machine: Machine, flags: tuple[str, ...]) -> None:
    refused = machine.outcome("up", "nowhere.invalid", "--dry-run", *flags)
    assert (refused["code"], refused["exit_code"]) == ("connection.no_such_host", 14)
    assert machine.files == ["tmux"]


def test_setup_without_a_login_host_and_without_a_terminal_says_what_is_missing(
    machine: Machine,
) -> None:
    refused = machine.outcome("setup")
    assert (refused["code"], refused["exit_code"]) == ("usage.invalid", 2)
    assert "LOGIN" in refused["message"]


@SIZES
def test_setup_offers_the_hosts_of_the_ssh_config(machine: Machine, size: tuple[int, int]) -> None:
    ssh = machine.home / ".ssh"
    ssh.mkdir(mode=0o700)
    (ssh / "config").write_text(
        "Host *\n  User me\nHost first second\n  HostName nowhere.invalid\n"
    )
    (ssh / "config").chmod(0o600)
    with machine.terminal(size, "setup") as terminal:
        rows = terminal.wait_for_question("as you type it after `ssh` [1]:")
        assert rows[2:4] == ["  1  first", "  2  second"]
        terminal.press(f"secnod{ENTER}")
        terminal.wait_for("did you mean `second`?")
        terminal.wait_for_question("as you type it after `ssh` [1]:")
        terminal.press(CTRL_D)
        assert terminal.end() == 2


@pytest.mark.parametrize("store", ["sf", "./sf"])
def test_a_store_that_is_no_place_is_refused_before_anybody_is_reached(
    machine: Machine, store: str
) -> None:
    refused = machine.outcome("setup", "nowhere.invalid", "--store", store)
    assert refused["exit_code"] == 2
    assert "`--store`" in refused["message"]


@pytest.mark.parametrize("login", ["-oProxyCommand=x", "a b", "host;id", "x" * 400])
def test_what_is_no_host_is_refused_before_ssh_hears_of_it(machine: Machine, login: str) -> None:
    refused = machine.outcome("setup", "--", login)
    assert (refused["code"], refused["exit_code"]) == ("usage.invalid", 2)
    assert "not a host" in refused["message"]


def test_keys_that_are_no_text_are_no_answer_and_break_nothing(machine: Machine) -> None:
    machine.environment["PYTHONIOENCODING"] = "utf-8:strict"  # as in most locales
    with machine.terminal(SMALL, "setup") as terminal:
        terminal.wait_for_question("as you type it after `ssh`")
        terminal.press_bytes(b"\xff\x1b[A\r")
        terminal.wait_for("is not a host as ssh takes it")
        terminal.press(CTRL_D)
        assert terminal.end() == 2


def test_up_takes_the_name_of_a_profile_as_well(machine: Machine) -> None:
    config = machine.home / ".config/scratchflow/config.toml"
    config.parent.mkdir(parents=True)
    places = f'scratch = "{machine.home}/s"\nstore = "{machine.home}/t"\n'
    config.write_text(f'[profiles.mine]\nscheduler = "none"\n{places}')
    assert machine.outcome("up", "mine")["type"] == "summary"
    assert (machine.home / "s/work").is_dir()
