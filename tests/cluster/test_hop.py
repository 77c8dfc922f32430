"""`hop` when a node dies under it, when there is no node to be had, and what two nodes at once leave behind."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until

WORK = "/scratch/alice/work"


@pytest.fixture(autouse=True)
def nothing_stored(minicluster: Minicluster) -> None:
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "sh", "-c", f"rm -rf {WORK}* /scratch/alice/.scratchflow")


def write(laptop: Laptop, text: str) -> None:
    assert laptop.ssh(f"echo {text} > {WORK}/file").returncode == 0


def read(laptop: Laptop) -> str:
    return laptop.ssh(f"cat {WORK}/file").stdout.strip()


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout is not None
    assert any(text in line for line in process.stdout), f"it ended before it said {text}"


def outcome(process: subprocess.Popen[str]) -> dict[str, Any]:
    last: dict[str, Any] = json.loads(process.communicate()[0].splitlines()[-1])
    return last


def heal(minicluster: Minicluster) -> None:
    minicluster.run("up")
    fine = {"idle", "mixed", "allocated"}
    retry_until(lambda: set(minicluster.node_states().values()) <= fine, "the nodes are back")


@pytest.mark.parametrize("victim", ["node-1", pytest.param("node-2", marks=pytest.mark.slow)])
def test_a_node_that_dies_in_the_middle_costs_nothing_that_was_saved(
    laptop: Laptop, minicluster: Minicluster, victim: str
) -> None:
    laptop.data("up", "--node", "1")
    write(laptop, "saved")
    with laptop.begin("hop", "--node", "2", "--json") as process:
        wait_for_line(process, '"node":"node-2"')
        minicluster.run("crash", victim)
        heal(minicluster)
        ended = outcome(process)
    # It may have got all it needed from the old node before that was gone.
    assert ended["exit_code"] in {0, 23, 24, 25}, ended
    finished = laptop.data("hop", "--node", "3")
    assert finished["node"] == "node-3"
    assert minicluster.jobs() == [str(finished["job_id"])]
    assert (laptop.ssh("hostname").stdout, read(laptop)) == ("node-3\n", "saved")


@pytest.mark.slow
def test_without_a_free_node_nothing_changes_and_one_that_waits_is_told_and_withdrawn_alone(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    got = laptop.data("up", "--node", "1")
    for node in ("node-2", "node-3"):
        minicluster.allocate(node, "--exclusive")
    jobs, files = minicluster.jobs(), laptop.files()
    refused = laptop.outcome("hop", "--wait", "2s")
    assert refused["exit_code"] == 21
    assert (minicluster.jobs(), laptop.files()) == (jobs, files)

    with laptop.begin("hop", "--json") as process:
        wait_for_line(process, '"state":"pending"')
        process.send_signal(signal.SIGINT)
        assert outcome(process)["exit_code"] == 130
    retry_until(lambda: minicluster.jobs() == jobs, "the request is withdrawn")
    shown = laptop.data("status")
    assert (shown["allocation"]["job_id"], shown["problems"]) == (got["job_id"], [])
    assert shown["alias"]["target"] == got["node"]
    assert laptop.ssh("hostname").stdout == "node-1\n"

    left = laptop.outcome("hop", "--node", "2", "--wait", "2s", "--keep-waiting")
    assert left["code"] == "allocation.pending"
    shown = laptop.data("status")
    (several,) = [one for one in shown["problems"] if one["name"] == "allocation.several"]
    assert several["detail"].startswith(f"job {got['job_id']} holds `node-1`; job ")
    assert "waits in the queue: " in several["detail"]
    withdrawn = laptop.data("clear", "--pending")
    assert len(withdrawn["job_ids"]) == 1
    shown = laptop.data("status")
    assert (shown["allocation"]["job_id"], shown["problems"]) == (got["job_id"], [])
    assert shown["alias"]["target"] == "node-1"


@pytest.mark.slow
def test_a_node_that_is_granted_while_nobody_waits_changes_nothing_until_hop_moves_there(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1")
    write(laptop, "one")
    minicluster.exec("login", "scontrol", "update", "nodename=node-2", "state=drain", "reason=test")
    left = laptop.outcome("hop", "--node", "2", "--wait", "2s", "--keep-waiting")
    assert left["type"] == "error", left
    minicluster.exec("login", "scontrol", "update", "nodename=node-2", "state=resume")
    retry_until(
        lambda: minicluster.node_states()["node-2"] in {"allocated", "mixed"}, "it is granted"
    )
    write(laptop, "two")
    saved = laptop.data("backup")
    assert (saved["kind"] != "unchanged", saved["changed_files"]) == (True, 1)
    shown = laptop.data("status")
    assert shown["allocation"]["node"] == "node-1"
    assert "allocation.several" in {one["name"] for one in shown["problems"]}
    assert laptop.data("autobackup", "status")["autobackup"]["enabled"]
    assert laptop.data("up")["node"] == "node-1"
    assert laptop.run("run", "--", "hostname").stdout.strip() == "node-1"
    write(laptop, "three")
    assert laptop.data("hop")["node"] == "node-2"
    assert read(laptop) == "three"
    assert laptop.data("status")["allocation"]["node"] == "node-2"


def test_clear_after_half_a_hop_saves_both_nodes(laptop: Laptop, minicluster: Minicluster) -> None:
    laptop.data("up", "--node", "1")
    with laptop.begin("hop", "--node", "2", "--json") as process:
        wait_for_line(process, "`node-2` has snapshot")
        process.kill()
    assert len(minicluster.jobs()) == 2
    minicluster.exec("-u", "alice", "node-1", "sh", "-c", f"echo old > {WORK}/file")
    several = [problem["name"] for problem in laptop.data("status")["problems"]]
    assert "allocation.several" in several
    assert laptop.data("clear")["snapshot"] is not None
    assert minicluster.jobs() == []
    laptop.data("up", "--node", "3")
    assert read(laptop) == "old"


@pytest.mark.slow
def test_a_copy_of_an_earlier_job_is_not_what_goes_over(laptop: Laptop) -> None:
    for node, text in (("1", "older"), ("2", "newer")):
        laptop.data("up", "--node", node)
        write(laptop, text)
        laptop.data("clear")
    laptop.data("allocate", "--node", "1")
    assert read(laptop) == "older"
    laptop.data("hop", "--node", "3")
    assert read(laptop) == "newer"


def test_coming_back_to_a_warm_node_writes_only_what_changed(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1")
    many = f"cd {WORK}; for i in $(seq 200); do echo $i > file-$i; done"
    minicluster.exec("-u", "alice", "node-1", "bash", "-c", many)
    laptop.data("clear")
    laptop.data("up", "--node", "2")
    assert laptop.ssh(f"echo new > {WORK}/file-7; echo new > {WORK}/file-9").returncode == 0
    laptop.data("clear")
    back = laptop.data("up", "--node", "1")["workspace"]["restored"]
    assert (back["mode"], back["written_files"], back["files"]) == ("delta", 2, 200)


@pytest.mark.slow
def test_a_second_workspace_of_the_profile_comes_along(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1")
    laptop.data("create", "--set", "workspace=work2")
    assert laptop.ssh(f"echo two > {WORK}2/file").returncode == 0
    done = laptop.data("hop", "--node", "2")
    assert list(done["others"]) == ["work2"]
    assert minicluster.jobs() == [str(done["job_id"])]
    there = laptop.run("--set", "workspace=work2", "run", "--", "cat", "file")
    assert (there.returncode, there.stdout, there.stderr) == (0, "two\n", "")
    saved = laptop.data("snapshots", "list", "--set", "workspace=work2")["snapshots"][-1]
    assert saved["id"] == done["others"]["work2"]
