"""`profiles` and `config get|unset` with the real program and a file that the user wrote."""

from __future__ import annotations

import getpass
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scratchflow.testing.slurm_programs import SlurmPrograms

ROOT = Path(__file__).resolve().parents[3]
FILE = """\
# mine
default_profile = "uni"

[profiles.uni]
store = "/fsx/s"  # large
[profiles.uni.slurm]
gpus = 2
extra = ["--oversubscribe"]
[profiles.uni.environment]
variables = { CCACHE_DIR = "/tmp/c" }
"""


class Machine:
    """A home with that file; its profile's login host is this machine, with the fake Slurm."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.file = home / ".config/scratchflow/config.toml"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(FILE)
        (home / "bin").mkdir()
        self.programs = SlurmPrograms(home / "bin", getpass.getuser())

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self.home}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "scratchflow", *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def outcome(self, *arguments: str) -> dict[str, Any]:
        last: dict[str, Any] = json.loads(self.run(*arguments, "--json").stdout.splitlines()[-1])
        return last

    def data(self, *arguments: str) -> dict[str, Any]:
        last = self.outcome(*arguments)
        assert last["type"] == "summary", last
        found: dict[str, Any] = last["data"]
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("key", "printed"),
    [
        ("store", "/fsx/s\n"),
        ("slurm.gpus", "2\n"),
        ("slurm.extra", '["--oversubscribe"]\n'),
        ("slurm.time", "8:00:00\n"),
        ("slurm.cpus_per_task", ""),
        ("environment.variables", '{CCACHE_DIR = "/tmp/c"}\n'),
        ("environment.variables.CCACHE_DIR", "/tmp/c\n"),
        ("default_profile", "uni\n"),
        ("profiles.uni.slurm.gpus", "2\n"),
        ("profiles.local.scheduler", "none\n"),
    ],
)
def test_get_prints_the_value_in_force_alone(machine: Machine, key: str, printed: str) -> None:
    done = machine.run("config", "get", key)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_get_says_where_a_value_came_from(machine: Machine) -> None:
    assert machine.data("config", "get", "slurm.gpus")["origin"] == str(machine.file)
    assert machine.data("config", "get", "slurm.time")["origin"] == "default"
    shown = machine.data("config", "get", "slurm.gpus", "--set", "slurm.gpus=1")
    assert (shown["value"], shown["origin"]) == (1, "--set")


@pytest.mark.parametrize("verb", ["get", "unset"])
@pytest.mark.parametrize("key", ["slurm.gpu", "profiles.uni.slurm.gpu"])
def test_a_key_that_does_not_exist_is_told_with_the_one_that_does(
    machine: Machine, verb: str, key: str
) -> None:
    refused = machine.outcome("config", verb, key)
    assert refused["code"] == "config.unknown_key"
    assert f'in config {verb}; did you mean "slurm.gpus"?' in refused["message"]


def test_unset_takes_one_line_out_and_leaves_the_rest(machine: Machine) -> None:
    shown = machine.data("config", "unset", "slurm.gpus", "--dry-run")
    assert "-gpus = 2" in shown["diff"]
    assert machine.file.read_text() == FILE
    machine.data("config", "unset", "slurm.gpus")
    assert machine.file.read_text() == FILE.replace("gpus = 2\n", "")
    again = machine.run("config", "unset", "slurm.gpus")
    assert "`profiles.uni.slurm.gpus` is not set in" in again.stdout
    machine.data("config", "unset", "default_profile")
    assert "default_profile" not in machine.file.read_text()


def test_a_copy_has_the_same_settings_and_names_of_its_own(machine: Machine) -> None:
    machine.data("profiles", "copy", "uni", "long", "--set", "slurm.time=2-0")
    assert machine.file.read_text().startswith(FILE)
    long, uni = (machine.data("config", "show", "-p", name)["values"] for name in ("long", "uni"))
    assert long.pop("alias") == "compile_machine_long"
    assert long.pop("workspace") == "work-long"
    assert long["slurm"].pop("time") == "2-0"
    del uni["alias"], uni["workspace"], uni["slurm"]["time"]
    assert long == uni


def test_names_that_were_chosen_are_kept(machine: Machine) -> None:
    machine.data("profiles", "copy", "uni", "b", "--set", "alias=compile_machine")
    assert machine.data("config", "get", "alias", "-p", "b")["value"] == "compile_machine"
    assert machine.data("config", "get", "workspace", "-p", "b")["value"] == "work-b"


def test_a_copy_of_the_built_in_profile_works_without_a_cluster(machine: Machine) -> None:
    machine.data("profiles", "copy", "local", "mine")
    mine = machine.data("config", "show", "-p", "mine")["values"]
    assert (mine["scheduler"], mine["workspace"]) == ("none", "work-mine")


def test_add_needs_a_login_host_and_a_new_name(machine: Machine) -> None:
    assert "`--login HOST`" in machine.outcome("profiles", "add", "b")["message"]
    taken = machine.outcome("profiles", "add", "uni", "--login", "x")
    assert taken["code"] == "usage.invalid"
    machine.data("profiles", "add", "b", "--login", "b-login", "--set", "slurm.gpus=1")
    shown = machine.data("config", "show", "-p", "b")["values"]
    assert (shown["login"], shown["slurm"]["gpus"]) == ("b-login", 1)
    assert shown["alias"] == "compile_machine_b"
    assert machine.data("config", "get", "default_profile")["value"] == "uni"


def test_use_changes_what_commands_use(machine: Machine) -> None:
    machine.data("profiles", "use", "local")
    assert machine.data("config", "show")["profile"] == "local"
    rows = machine.data("profiles", "list")["profiles"]
    assert {row["name"]: row["is_used"] for row in rows} == {"uni": False, "local": True}
    refused = machine.outcome("profiles", "use", "umi")
    assert 'did you mean "uni"?' in refused["message"]


def test_the_list_works_when_no_profile_is_chosen(machine: Machine) -> None:
    machine.data("profiles", "copy", "uni", "b")
    machine.data("config", "unset", "default_profile")
    assert machine.outcome("config", "show")["code"] == "config.profile_needed"
    assert "*" not in machine.run("profiles", "list").stdout


@pytest.mark.parametrize("state", ["RUNNING", "PENDING"])
def test_a_profile_that_holds_a_node_is_not_removed(machine: Machine, state: str) -> None:
    with machine.programs.slurm() as fake:
        number = fake.add("scratchflow:uni:abc", state=state)
    refused = machine.outcome("profiles", "remove", "uni", "--yes")
    assert refused["code"] == "allocation.held"
    assert machine.file.read_text() == FILE
    with machine.programs.slurm() as fake:
        fake.jobs[number].state = "COMPLETED"
    assert machine.data("profiles", "remove", "uni", "--yes")["profile"] == "uni"


def test_remove_takes_the_profile_out_and_says_what_stays(machine: Machine) -> None:
    machine.data("profiles", "copy", "uni", "b")
    with_both = machine.file.read_text()
    alias = machine.home / ".ssh/scratchflow.d/compile_machine_b.conf"
    alias.parent.mkdir(parents=True)
    alias.touch()
    declined = machine.outcome("profiles", "remove", "b")
    assert declined["code"] == "usage.declined"
    assert machine.file.read_text() == with_both
    removed = machine.data("profiles", "remove", "b", "--yes")
    assert removed["stays"] == [
        "its snapshots, in `/fsx/s/work-b`",
        "the workspace, in `/scratch/$USER/work-b` of the nodes that held it",
        f"the ssh alias `compile_machine_b`; `rm {alias}` removes it",
    ]
    assert machine.file.read_text().rstrip() == FILE.rstrip()
    assert machine.data("config", "get", "default_profile")["value"] == "uni"


def test_the_default_goes_with_its_profile(machine: Machine) -> None:
    machine.data("profiles", "remove", "uni", "--yes")
    assert machine.data("config", "show")["profile"] == "local"


def test_when_slurm_cannot_be_asked_a_warning_says_so(machine: Machine) -> None:
    with machine.programs.slurm() as fake:
        fake.up = False
    done = machine.run("profiles", "remove", "uni", "--yes")
    assert "cannot tell whether profile `uni` holds a node" in done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(("answer", "removed"), [("y\n", True), ("\n", False), ("\x04", False)])
def test_in_a_terminal_remove_shows_the_change_and_asks(
    machine: Machine, answer: str, removed: bool
) -> None:
    child, descriptor = pty.fork()
    if child == 0:
        argv = [sys.executable, "-m", "scratchflow", "profiles", "remove", "uni"]
        os.execve(sys.executable, argv, {**machine.environment, "TERM": "xterm"})  # noqa: S606 - a terminal is what is tried
    screen = ""
    with os.fdopen(descriptor, "r+b", buffering=0) as keyboard:
        with suppress(OSError):  # the terminal is gone
            while shown := keyboard.read(1 << 16):
                screen += shown.decode()
                if screen.endswith("Remove profile `uni`? [y/N]: "):
                    keyboard.write(answer.encode())
        status = os.waitpid(child, 0)[1]
    assert '-store = "/fsx/s"  # large' in screen
    assert os.waitstatus_to_exitcode(status) == (0 if removed else 2)
    assert ("profiles.uni" not in machine.file.read_text()) == removed
