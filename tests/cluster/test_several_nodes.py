"""An allocation of several nodes: an alias for each, the workspace on all of them, and no copy is lost or merged."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until

WORK = "/scratch/alice/work"
NODES = ["node-1", "node-2", "node-3"]
THREE = ("--set", "slurm.nodes=3")
TWO = ("--set", "slurm.nodes=2")


@pytest.fixture(autouse=True)
def nothing_stored(minicluster: Minicluster) -> None:
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    for node in NODES:
        minicluster.exec(node, "sh", "-c", f"rm -rf {WORK}* /scratch/alice/.scratchflow")


def by_alias(laptop: Laptop, alias: str, *command: str) -> subprocess.CompletedProcess[str]:
    argv = ["ssh", "-F", str(laptop.ssh_config), "-o", "BatchMode=yes", alias, *command]
    return subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_every_node_has_an_alias_until_the_job_has_fewer(laptop: Laptop) -> None:
    got = laptop.data("allocate", *THREE)
    assert (got["node"], got["nodes"]) == ("node-1", NODES)
    names = ["compile_machine", "compile_machine-2", "compile_machine-3"]
    assert [by_alias(laptop, name, "hostname").stdout.strip() for name in names] == NODES
    shown = laptop.data("status", "--usage")
    assert shown["allocation"]["nodes"] == NODES
    assert shown["alias"]["others"] == NODES[1:]
    assert [(one["node"], one["unknown"]) for one in shown["usage"]] == [(n, "") for n in NODES]
    assert all(one["cpu"]["cores"] and one["memory"]["used_bytes"] for one in shown["usage"])
    assert {one["scratch"]["path"] for one in shown["usage"]} == {"/scratch/alice"}
    # This machine's disk may be nearly full.
    assert [one["name"] for one in shown["problems"] if one["name"] != "scratch.nearly_full"] == []
    laptop.data("clear")
    for name in names:
        assert "scratchflow: this host is parked" in by_alias(laptop, name, "true").stderr
    laptop.data("allocate", "--node", "2")
    assert by_alias(laptop, names[0], "hostname").stdout == "node-2\n"
    assert "Could not resolve" in by_alias(laptop, names[1], "true").stderr


def on_node(minicluster: Minicluster, node: str, script: str) -> str:
    return minicluster.exec("-u", "alice", node, "sh", "-c", f"cd {WORK} && {script}").stdout


def test_the_workspace_comes_to_all_nodes_at_once(laptop: Laptop, minicluster: Minicluster) -> None:
    made = laptop.data("up", *THREE)
    assert (made["workspace"]["action"], made["workspace"]["nodes"]) == ("created", NODES)
    on_node(minicluster, "node-1", "echo one > file")
    laptop.data("backup")
    back = laptop.data("restore")
    assert (back["nodes"], back["failed"]) == (NODES, [])
    assert [on_node(minicluster, node, "cat file") for node in NODES] == ["one\n"] * 3
    laptop.data("clear")
    for node in NODES:
        minicluster.exec(node, "sh", "-c", f"rm -rf {WORK} /scratch/alice/.scratchflow")
    minicluster.exec("login", "sh", "-c", "rm -f /fsx/alice/store/work/nodes/*")
    again = laptop.data("up", *THREE)
    assert (again["workspace"]["action"], again["workspace"]["nodes"]) == ("restored", NODES)
    assert [on_node(minicluster, node, "cat file") for node in NODES] == ["one\n"] * 3


@pytest.mark.slow
def test_a_node_that_fails_is_named_and_the_others_have_it(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("allocate", *THREE)
    minicluster.exec("-u", "alice", "node-2", "sh", "-c", f"mkdir -p {WORK}; echo mine > {WORK}/x")
    ended = laptop.outcome("up")
    assert (ended["type"], ended["exit_code"]) == ("summary", 35)
    workspace = ended["data"]["workspace"]
    assert workspace["nodes"] == ["node-1", "node-3"]
    assert [(one["node"], one["code"]) for one in workspace["failed"]] == [
        ("node-2", "restore.target_not_empty")
    ]
    assert on_node(minicluster, "node-2", "cat x") == "mine\n"
    assert laptop.data("status")["autobackup"]["enabled"]
    saved = laptop.data("clear")
    assert list(saved["forks"]) == ["node-2"]


@pytest.mark.slow
def test_what_only_another_node_has_survives_clear_as_a_fork(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", *THREE)
    on_node(minicluster, "node-1", "echo first > file")
    laptop.data("backup")
    laptop.data("restore")
    on_node(minicluster, "node-2", "echo second > file")
    cleared = laptop.data("clear")
    assert list(cleared["forks"]) == ["node-2"]
    laptop.data("up")
    assert laptop.ssh(f"cat {WORK}/file").stdout == "first\n"
    fork = laptop.data("snapshots", "show", cleared["forks"]["node-2"])["manifest"]
    assert fork["message"] == "before clear, of node-2"
    laptop.data("restore", cleared["forks"]["node-2"])
    assert laptop.ssh(f"cat {WORK}/file").stdout == "second\n"


@pytest.mark.slow
def test_another_nodes_copy_is_saved_when_it_is_named(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", *THREE)
    on_node(minicluster, "node-3", "echo third > file")
    taken = laptop.data("backup", "--from-node", "3")
    assert taken["changed_files"] == 1
    assert laptop.data("backup", "--from-node", "node-3")["kind"] == "unchanged"
    refused = laptop.outcome("backup", "--from-node", "4")
    assert (refused["code"], refused["exit_code"]) == ("node.not_of_job", 22)
    laptop.data("restore", taken["snapshot"])
    assert [on_node(minicluster, node, "cat file") for node in NODES] == ["third\n"] * 3


@pytest.mark.slow
def test_a_file_that_was_changed_on_another_node_is_told_by_status_and_backup(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", *THREE)
    same = laptop.data("status")
    assert [(copy["node"], copy["changed"]) for copy in same["copies"]] == [
        ("node-2", 0),
        ("node-3", 0),
    ]
    on_node(minicluster, "node-2", "echo second > file")
    shown = laptop.data("status")
    assert [problem["detail"] for problem in shown["problems"]] == ["`node-2` differs: 1 file"]
    lines = laptop.lines("backup")
    assert lines[-1]["data"]["kind"] == "unchanged"
    assert [(copy["node"], copy["changed"]) for copy in lines[-1]["data"]["copies"]] == [
        ("node-2", 1),
        ("node-3", 0),
    ]
    warned = [line["message"] for line in lines if line["type"] == "warning"]
    assert any("`node-2` differs: 1 file" in message for message in warned)
    assert "node 2       node-2: differs: 1 file" in laptop.run("status").stdout


def test_a_command_runs_on_every_node_and_ends_on_all(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", *THREE)
    script = "pwd; cat; hostname >&2; [ $(hostname) != node-2 ] || exit 7"
    done = laptop.run("run", "--all", "--", "sh", "-c", script)
    assert done.returncode == 7
    assert sorted(done.stdout.splitlines()) == [f"{node}: {WORK}" for node in NODES]
    said = [line for line in done.stderr.splitlines() if line.startswith("node-")]
    assert sorted(said) == [f"{node}: {node}" for node in NODES]
    with laptop.begin("run", "--all", "--", "sh", "-c", "echo on; sleep 9882") as process:
        assert process.stdout is not None
        for _ in NODES:
            assert process.stdout.readline().endswith(": on\n")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 128 + signal.SIGINT
    for node in NODES:
        found = minicluster.exec(node, "pgrep", "-x", "-f", "sleep 9882", check=False)
        assert found.stdout == ""
    refused = laptop.run("run", "--all", "--cwd", "none", "--", "true")
    assert refused.returncode == 30


def forks(laptop: Laptop) -> dict[str, str]:
    """The snapshots that are marked as forks, by their messages."""
    listed = laptop.data("snapshots", "list")["snapshots"]
    return {one["message"]: one["id"] for one in listed if one["beside"]}


@pytest.mark.slow
def test_a_job_that_is_cancelled_leaves_a_last_snapshot_of_every_node(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    job_id = laptop.data("up", *THREE)["job_id"]
    shown = laptop.data("status")
    assert shown["autobackup"]["others"] == NODES[1:]
    assert shown["problems"] == []
    for node in NODES[:2]:
        on_node(minicluster, node, f"echo {node} > file")
    minicluster.login("scancel", str(job_id))
    wanted = {"the job ends, of node-2"}
    retry_until(lambda: set(forks(laptop)) == wanted, "node-2 is saved, and node-3 has nothing")
    retry_until(lambda: minicluster.jobs() == [], "the job has ended")
    laptop.data("up")
    assert laptop.ssh(f"cat {WORK}/file").stdout == "node-1\n"
    laptop.data("restore", forks(laptop)["the job ends, of node-2"])
    assert laptop.ssh(f"cat {WORK}/file").stdout == "node-2\n"


@pytest.mark.slow
def test_the_last_backup_before_the_time_limit_is_taken_on_every_node(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    """It is due when half of a short job is over."""
    laptop.data("up", *THREE, "--time", "2m")
    on_node(minicluster, "node-3", "echo third > file")
    wanted = "the last before the time limit, of node-3"
    retry_until(lambda: wanted in forks(laptop), "node-3 is saved", deadline_s=120)
    problems = [problem["detail"] for problem in laptop.data("status")["problems"]]
    assert [detail.split(":")[0] for detail in problems] == ["`node-3` differs"]
    taken = laptop.data("backup", "--from-node", "3")
    assert taken["changed_files"] == 0
    assert laptop.data("snapshots", "show", "latest")["manifest"]["id"] == taken["snapshot"]


@pytest.mark.slow
def test_an_auto_backup_that_died_on_a_further_node_is_told_and_started_again(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", *THREE)
    heartbeat = minicluster.shared("/fsx/alice/store/work/heartbeats/node-2.json")
    life = json.loads(heartbeat.read_text())
    minicluster.exec("node-2", "kill", "-9", str(life["pid"]))
    heartbeat.write_text(json.dumps({**life, "time": "2020-01-01T00:00:00Z"}))
    (problem,) = laptop.data("status")["problems"]
    assert (problem["name"], "`node-2`" in problem["detail"]) == ("autobackup.missing", True)
    assert laptop.data("status", "--fix")["problems"] == []
    assert json.loads(heartbeat.read_text())["token"] != life["token"]
    off = laptop.data("autobackup", "off")
    assert (off["changed"], off["others"]) == (True, NODES[1:])
    for node in NODES:
        found = minicluster.exec(node, "pgrep", "-u", "alice", "-f", "run.py agent", check=False)
        assert found.stdout == ""


@pytest.mark.slow
def test_hop_leaves_several_nodes_and_comes_to_several(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1")
    on_node(minicluster, "node-1", "echo first > file")
    planned = laptop.data("hop", *TWO, "--dry-run")["commands"]
    assert "scratchflow backup" in planned[0]
    there = laptop.data("hop", *TWO)
    assert there["node"] == "node-2"
    pair = laptop.data("status")
    assert pair["allocation"]["nodes"] == NODES[1:]
    assert (pair["autobackup"]["others"], pair["alias"]["others"]) == (["node-3"], ["node-3"])
    assert [on_node(minicluster, node, "cat file") for node in NODES[1:]] == ["first\n"] * 2
    on_node(minicluster, "node-2", "echo second > file")
    on_node(minicluster, "node-3", "echo third > file; echo own > own")
    planned = laptop.data("hop", "--node", "1", "--dry-run")["commands"]
    assert [line.split()[-1] for line in planned[:2]] == ["node-3)", "node-2)"]
    back = laptop.data("hop", "--node", "1")
    assert (back["from_node"], back["node"], list(back["forks"])) == (
        "node-2",
        "node-1",
        ["node-3"],
    )
    assert minicluster.jobs() == [str(back["job_id"])]
    assert on_node(minicluster, "node-1", "cat file; ls") == "second\nfile\n"
    assert laptop.data("status")["problems"] == []
    laptop.data("restore", back["forks"]["node-3"])
    assert on_node(minicluster, "node-1", "cat file own") == "third\nown\n"
