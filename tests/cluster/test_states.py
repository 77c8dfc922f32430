"""Every state that an allocation can be in, and what the verbs say about it on the laptop."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.laptop import SETUP, Laptop
from tests.cluster.minicluster import Minicluster, retry_until


def problems(status: dict[str, Any]) -> list[str]:
    return [problem["name"] for problem in status["problems"]]


def jobs_named_ours(minicluster: Minicluster) -> list[str]:
    squeue = ["squeue", "--noheader", "--states=PENDING,RUNNING", "--format=%i %j"]
    lines = minicluster.exec("login", *squeue).stdout.splitlines()
    return [line.split()[0] for line in lines if " scratchflow:" in line]


def test_a_busy_node_is_waited_for_with_reason_and_estimate_up_to_the_limit(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    minicluster.allocate("node-1", "--exclusive")
    lines = laptop.lines("allocate", "--node", "1", "--wait", "4s")
    states = [line for line in lines if line["type"] == "state"]
    assert {line["state"] for line in states} == {"pending"}
    assert states[0]["reason"] == "it is next, and waits for a node to become free"
    assert (lines[-1]["code"], lines[-1]["exit_code"]) == ("allocation.pending", 21)
    assert "withdrawn" in lines[-1]["hint"]
    assert jobs_named_ours(minicluster) == []
    assert laptop.data("status")["allocation"] is None


@pytest.mark.parametrize(("signum", "stays"), [(signal.SIGTERM, True), (signal.SIGINT, False)])
def test_with_keep_waiting_only_ctrl_c_withdraws_the_request(
    laptop: Laptop, minicluster: Minicluster, signum: int, stays: bool
) -> None:
    minicluster.allocate("node-1", "--exclusive")
    with laptop.begin("allocate", "--node", "1", "--keep-waiting", "--json") as process:
        assert process.stdout is not None
        result = map(json.loads, process.stdout)
        number = next(line for line in result if line["type"] == "state")["job_id"]
        process.send_signal(signum)
        last = list(result)[-1]
    assert ("stays in the queue" in last["message"], last["exit_code"]) == (stays, 128 + signum)
    assert jobs_named_ours(minicluster) == ([str(number)] if stays else [])
    laptop.data("clear", "--pending")
    assert jobs_named_ours(minicluster) == []


def test_with_keep_waiting_the_request_stays_and_the_next_allocate_gets_its_node(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    busy = minicluster.allocate("node-1", "--exclusive")
    kept = laptop.outcome("allocate", "--node", "1", "--wait", "1s", "--keep-waiting")
    assert kept["exit_code"] == 21
    assert "stays in the queue" in kept["hint"]
    (number,) = jobs_named_ours(minicluster)
    waiting = laptop.data("status")["allocation"]
    assert (waiting["state"], waiting["job_id"]) == ("pending", int(number))
    with laptop.begin("allocate", "--json") as process:
        assert process.stdout is not None
        result = map(json.loads, process.stdout)
        assert next(line for line in result if line["type"] == "state")["job_id"] == int(number)
        minicluster.exec("login", "scancel", busy)
        last = list(result)[-1]
    assert (last["data"]["job_id"], last["data"]["reused"]) == (int(number), True)
    assert laptop.ssh("hostname").stdout.strip() == "node-1"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--set", "slurm.partition=nosuch"), "Invalid partition name"),
        (("--time", "2h"), "`--time 2h` is more than the 10 min that partition `debug` allows"),
        (("--cpus", "400"), "`--cpus 400` is more than the"),
        (("--mem", "100T"), "`--mem 100T` is more than the"),
        (("--node", "99"), "ends in the number 99"),
        (("--set", "slurm.gpus=9"), "`--set slurm.gpus=9` is more than the 2 GPUs that a node"),
    ],
)
def test_what_can_never_be_granted_is_refused_at_once(
    laptop: Laptop, minicluster: Minicluster, options: tuple[str, ...], words: str
) -> None:
    refused = laptop.outcome("allocate", "--wait", "1h", *options)
    assert refused["exit_code"] == 22, refused
    assert words in refused["message"]
    assert "scratchflow nodes" in refused["hint"]
    assert jobs_named_ours(minicluster) == []


def test_a_drained_node_is_waited_for_no_longer_than_wanted(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    drain = ["scontrol", "update", "nodename=node-3", "state=drain", "reason=test"]
    minicluster.exec("login", *drain)
    refused = laptop.outcome("allocate", "--node", "3", "--wait", "1s")
    assert refused["exit_code"] == 21
    assert "down, drained or reserved" in refused["message"]
    assert jobs_named_ours(minicluster) == []


@pytest.mark.slow
def test_a_lost_node_and_a_time_limit_are_told_as_what_they_are(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    # Two profiles at once, because Slurm takes half a minute to notice either.
    laptop.data(*(word if word != "mini" else "second" for word in SETUP), "--yes")
    laptop.data("config", "set", "profiles.second.slurm.time", "10:00")
    laptop.data("config", "set", "default_profile", "mini")
    ending = laptop.data("allocate", "--node", "1", "--profile", "second")
    over = ["scontrol", "update", f"jobid={ending['job_id']}", "EndTime=now"]
    minicluster.exec("login", *over)
    laptop.data("allocate", "--node", "2")
    minicluster.run("crash", "node-2")
    lost = laptop.outcome("backup")
    # Before Slurm has noticed, or after: it is the node in either case.
    assert lost["code"] in {"node.silent", "node.failed"}, lost
    assert lost["exit_code"] == 24

    def ended(profile: str) -> str:
        status = laptop.data("status", "--profile", profile)
        result = [one["detail"] for one in status["problems"] if one["name"] == "allocation.ended"]
        return "".join(result)

    retry_until(lambda: "its node failed" in ended("mini"), "the lost node is told")
    retry_until(lambda: "time limit" in ended("second"), "the end of its time is told")
    assert "alias.stale" in problems(laptop.data("status"))
    assert laptop.outcome("backup")["exit_code"] == 25
    assert laptop.data("status", "--fix")["alias"]["parked"] is True
    again = laptop.data("allocate", "--node", "3")
    assert laptop.ssh("hostname").stdout.strip() == again["node"]


def test_while_slurmctld_is_away_every_verb_says_so_and_changes_nothing(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    got = laptop.data("allocate")
    alias = laptop.ssh_config.parent / "scratchflow.d/compile_machine.conf"
    before = alias.read_bytes()
    minicluster.exec("login", "scontrol", "shutdown", "slurmctld")
    # Slurm's own commands take seconds to give up: all at once.
    asked = [laptop.begin(*verb, "--json") for verb in (["status"], ["allocate"], ["clear"])]
    for process in asked:
        with process:
            last = json.loads(process.communicate()[0].splitlines()[-1])
        assert (last["code"], last["exit_code"]) == ("slurm.unreachable", 20), last
    assert alias.read_bytes() == before
    minicluster.run("boot", "login")
    retry_until(lambda: laptop.run("status").returncode == 0, "slurmctld answers again")
    assert laptop.data("status")["allocation"]["job_id"] == got["job_id"]


def test_after_a_crash_of_the_login_host_the_node_is_still_ours(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    got = laptop.data("allocate")
    named = ["squeue", "--noheader", "--format=%j", f"--jobs={got['job_id']}"]
    name = minicluster.exec("login", *named).stdout.strip()

    def is_written_down() -> bool:
        # With its token: an earlier job of the same profile is remembered there, too.
        look = ["grep", "--quiet", "--text", name, "/var/spool/slurmctld/job_state"]
        return minicluster.exec("login", *look, check=False).returncode == 0

    retry_until(is_written_down, "slurmctld has saved the job")
    minicluster.run("crash", "login")
    assert laptop.outcome("status")["exit_code"] == 14
    minicluster.run("boot", "login")
    retry_until(lambda: laptop.run("status").returncode == 0, "the login host answers again")
    seen = laptop.data("status")
    assert seen["allocation"]["job_id"] == got["job_id"]
    assert problems(seen) == ["session.lost"]
    laptop.data("attach")
    assert problems(laptop.data("status")) == []
    assert laptop.ssh("hostname").stdout.strip() == got["node"]


def test_without_a_network_the_connection_is_said_to_be_lost(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    minicluster.run("link", "login", "down")
    asked = [laptop.begin(verb, "--json") for verb in ("status", "allocate")]
    for process in asked:
        with process:
            last = json.loads(process.communicate()[0].splitlines()[-1])
        assert (last["code"], last["exit_code"]) == ("connection.lost", 14), last


class TestWatch:
    @pytest.fixture
    def watching(self, laptop: Laptop) -> Iterator[subprocess.Popen[str]]:
        laptop.data("allocate", "--node", "1")
        with laptop.begin("status", "--watch", "--json") as process:
            yield process
            process.kill()

    @pytest.mark.slow
    def test_it_tells_at_once_then_each_change_and_outlives_a_restart_of_slurmctld(
        self, watching: subprocess.Popen[str], laptop: Laptop, minicluster: Minicluster
    ) -> None:
        assert watching.stdout is not None
        result = (json.loads(line) for line in watching.stdout)
        pictures = (line["data"] for line in result if line["type"] == "status")
        first = next(pictures)
        assert (first["allocation"]["node"], first["problems"]) == ("node-1", [])

        minicluster.exec("login", "scontrol", "shutdown", "slurmctld")
        away = next(pictures)
        assert away["allocation"]["job_id"] == first["allocation"]["job_id"]
        assert problems(away) == ["slurm.unreachable"]
        minicluster.run("boot", "login")
        assert problems(next(pictures)) == []

        minicluster.exec("login", "scancel", str(first["allocation"]["job_id"]))
        gone = next(picture for picture in pictures if picture["allocation"] is None)
        assert "alias.stale" in problems(gone)

        watching.send_signal(signal.SIGINT)
        watching.communicate()
        assert watching.returncode == 130

        def is_listening() -> bool:
            look = ["pgrep", "-u", "alice", "-f", "run.py agent"]
            return minicluster.exec("login", *look, check=False).returncode == 0

        retry_until(lambda: not is_listening(), "its agent ends")
        assert laptop.data("status", "--fix")["alias"]["parked"] is True
