"""A login host with the real program and the fake Slurm: what waiting says, and what Ctrl-C does."""

from __future__ import annotations

import getpass
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scratchflow.ssh.config import include
from scratchflow.ssh.config.alias import point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.store.directory import open_place
from scratchflow.store.nodes import NodeRecord, record_node
from scratchflow.testing.slurm_programs import SlurmPrograms

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = [sys.executable, "-m", "scratchflow"]
CONFIG = '[profiles.aws]\nstore = "~/store"\n[profiles.aws.slurm]\ntime = "5:00"\n'


class Login:
    """A login host whose nodes are all taken."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "bin").mkdir()
        (home / ".config/scratchflow").mkdir(parents=True)
        (home / ".config/scratchflow/config.toml").write_text(CONFIG)
        self.programs = SlurmPrograms(home / "bin", getpass.getuser())
        with self.programs.slurm() as fake:
            for node in fake.nodes:
                fake.add("in the way", nodes=node)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in {"LANG", "TERM"}}
        return {
            **kept,
            "HOME": str(self.home),
            "PATH": f"{self.home}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "TMUX_TMPDIR": str(self.home),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def states(self) -> list[str]:
        """Of the jobs that scratchflow asked for."""
        with self.programs.slurm() as fake:
            return [job.state for job in fake.jobs.values() if job.name != "in the way"]


@pytest.fixture
def login() -> Iterator[Login]:
    with tempfile.TemporaryDirectory(prefix="login-") as directory:  # short: tmux's socket is in it
        made = Login(Path(directory))
        yield made
        argv = ["tmux", "-L", "scratchflow", "kill-server"]
        subprocess.run(argv, env=made.environment, capture_output=True, check=False)


def interrupted(process: subprocess.Popen[str], after: str) -> str:
    """Everything it said on stderr, when Ctrl-C comes after these words."""
    said = ""
    with process:
        assert process.stderr is not None
        for line in process.stderr:
            said += line
            if after in line:
                process.send_signal(signal.SIGINT)
    return said


@pytest.mark.parametrize(
    ("flags", "how_long"),
    [
        ((), "waiting for up to 10m; Ctrl-C withdraws the request"),
        (("--wait", "1h"), "waiting for up to 1h; Ctrl-C withdraws the request"),
        (("--keep-waiting",), "waiting without limit; Ctrl-C withdraws the request"),
    ],
)
@pytest.mark.parametrize("verb", ["allocate", "up"])
def test_ctrl_c_withdraws_the_request_and_says_so(
    login: Login, verb: str, flags: tuple[str, ...], how_long: str
) -> None:
    process = login.begin(verb, *flags)
    said = interrupted(process, "Ctrl-C")
    assert how_long in said
    assert said.endswith("\nCancelled. The request (job 4) was withdrawn.\n")
    assert "error:" not in said
    assert process.returncode == 128 + signal.SIGINT
    assert login.states() == ["CANCELLED"]


def test_ctrl_c_leaves_a_request_of_an_earlier_run_in_the_queue_and_says_so(login: Login) -> None:
    kept = login.run("allocate", "--wait", "1s", "--keep-waiting")
    assert kept.returncode == 21
    assert "waiting for up to 1s, then the request stays in the queue" in kept.stderr
    for verb in ("allocate", "up"):
        foretold = login.run(verb, "--dry-run").stdout
        assert "job 4 is in the queue already: would wait for it" in foretold
        assert "salloc" not in foretold
    events = login.run("allocate", "--dry-run", "--time", "30m", "--json").stdout.splitlines()
    data = json.loads(events[-1])["data"]
    assert (data["reused"], data["job_id"], data["command"]) == (True, 4, "")
    assert data["instead"].startswith("salloc ")
    assert "--time=00:30:00" in data["instead"]
    for verb in ("allocate", "up"):
        said = interrupted(login.begin(verb, "--time", "30m"), "is not sent")
        assert "`--time 30m` is not sent to Slurm: job 4 is in the queue already" in said
    process = login.begin("allocate")
    said = interrupted(process, "Ctrl-C")
    assert "Ctrl-C stops waiting and leaves job 4 in the queue" in said
    assert "is not sent" not in said
    assert said.endswith(
        "Cancelled. Job 4 stays in the queue; `scratchflow clear --pending` withdraws it.\n"
    )
    assert login.states() == ["PENDING"]


def test_in_json_the_error_says_it_too(login: Login) -> None:
    lines: list[dict[str, Any]] = []
    with login.begin("allocate", "--json") as process:
        assert process.stdout is not None
        for raw in process.stdout:
            lines.append(json.loads(raw))
            if lines[-1]["type"] == "state":
                process.send_signal(signal.SIGINT)
    assert (lines[-1]["code"], lines[-1]["exit_code"]) == ("signal.ended", 130)
    assert lines[-1]["message"] == "Cancelled. The request (job 4) was withdrawn."
    assert process.returncode == 130


@pytest.mark.parametrize("verb", ["allocate", "up"])
def test_flags_reach_salloc(login: Login, verb: str) -> None:
    flags = (
        "--time 4m --gpus 1 --cpus 2 --mem 3G --partition gpu --account lab --qos q --constraint c"
    )
    shown = login.run(verb, *flags.split(), "--dry-run").stdout
    for word in ("--time=00:04:00", "--gpus=1", "--cpus-per-task=2", "--mem=3G", "--partition=gpu"):
        assert f" {word} " in shown
    assert " --account=lab " in shown
    assert " --qos=q " in shown
    assert " --constraint=c\n" in shown


@pytest.mark.parametrize(
    ("partition", "said"), [("debgu", "did you mean `debug`?"), ("xyz", "there are debug, gpu")]
)
def test_a_partition_that_does_not_exist_is_told_with_those_that_do(
    login: Login, partition: str, said: str
) -> None:
    refused = login.run("allocate", "--partition", partition)
    assert refused.returncode == 22
    assert said in refused.stderr


@pytest.mark.parametrize(
    ("typed", "named", "change"),
    [
        (["--time", "5h"], "`--time 5h`", "change `--time 5h` to `--time 10m`"),
        (
            ["--set", "slurm.time=300"],
            "`--set slurm.time=300`",
            "change `--set slurm.time=300` to `--time 10m`",
        ),
        (
            [],
            "`slurm.time = 300`",
            "ask with `--time 10m`, or change the request under `[profiles.aws.slurm]`",
        ),
    ],
)
def test_a_refusal_names_the_option_and_the_limit(
    login: Login, typed: list[str], named: str, change: str
) -> None:
    if not typed:
        login.run("config", "set", "slurm.time", "300")
    refused = login.run("allocate", *typed)
    assert refused.returncode == 22
    limit = f"{named} is more than the 10 min that partition `debug` allows (PartitionTimeLimit)"
    assert f"error: Slurm refused the request: {limit}\n" in refused.stderr
    assert f"hint: {change}; `scratchflow nodes` shows" in refused.stderr
    assert "waiting for up to" not in refused.stderr


def test_up_with_the_name_of_a_profile_names_it_in_its_hints(login: Login) -> None:
    config = login.home / ".config/scratchflow/config.toml"
    config.write_text(f'default_profile = "aws"\n{CONFIG}[profiles.other]\nstore = "~/other"\n')
    refused = login.run("up", "other", "--time", "5h")
    assert "`scratchflow -p other nodes` shows" in refused.stderr
    refused = login.run("up", "--time", "5h")
    assert "`scratchflow nodes` shows" in refused.stderr


def test_a_warm_node_is_not_blamed_for_a_request_that_no_node_can_meet(login: Login) -> None:
    with login.programs.slurm() as fake:
        fake.jobs.clear()
    record_node(
        open_place(login.home / "store", "work"),
        NodeRecord(
            node="node-1",
            snapshot="20261115T120000Z-3f2a9c",
            workspace_path="/scratch/me/work",
            job_id=None,
            time="2026-11-15T12:00:00Z",
        ),
    )
    refused = login.run("allocate", "--time", "5h")
    assert refused.returncode == 22
    assert "`node-1` is warm: asking for it first" in refused.stderr
    assert "asking for any node" not in refused.stderr
    assert "`--time 5h` is more than the 10 min" in refused.stderr


def test_nodes_marks_those_of_the_partition_that_is_asked_for(login: Login) -> None:
    def marked(*flags: str) -> list[str]:
        lines = login.run("nodes", *flags).stdout.splitlines()
        return [line.split()[1] for line in lines if line.startswith("* node-")]

    assert marked() == ["node-1", "node-2", "node-3"]  # Slurm's default partition
    assert marked("--set", "slurm.partition=gpu") == ["node-2", "node-3"]
    shown = login.run("nodes").stdout
    assert "* in partition `debug`" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_doctor_parks_an_alias_that_leads_to_a_node_that_is_gone(login: Login) -> None:
    places = SshPaths.of(login.home / ".ssh/config")
    target = AliasTarget(profile="aws", node="node-1", user="me", login=None)
    places.config.parent.mkdir(mode=0o700)
    include.apply(include.plan_install(places))
    point_alias(places, "compile_machine", target)

    def checked(*flags: str) -> tuple[list[str], dict[str, bool]]:
        last = json.loads(login.run("doctor", *flags, "--json").stdout.splitlines()[-1])
        return last["data"]["mended"], {one["name"]: one["ok"] for one in last["data"]["checks"]}

    mended, checks = checked()
    assert (mended, checks["alias"]) == ([], False)
    mended, checks = checked("--fix")
    assert (mended, checks["alias"]) == (["parked `compile_machine`"], True)
    assert checked("--fix")[0] == []
