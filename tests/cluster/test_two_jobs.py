"""While there are two jobs, or one that is not running: nothing is released unsaved, nothing rolled back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until

WORK = "/scratch/alice/work"
QUIET = ("--set", "backup.every=1h")


@pytest.fixture(autouse=True)
def nothing_stored(minicluster: Minicluster) -> None:
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "rm", "-rf", WORK, "/scratch/alice/.scratchflow")


@pytest.fixture
def taken(minicluster: Minicluster) -> Iterator[None]:
    """node-2 and node-3 belong to somebody else for a while."""
    argv = ["-u", "bob", "login", "salloc", "--no-shell", "--exclusive", "--nodelist=node-[2-3]"]
    minicluster.run("exec", *argv)
    yield
    minicluster.exec("login", "scancel", "--user=bob")


def write(laptop: Laptop, text: str) -> None:
    assert laptop.ssh(f"echo {text} >> {WORK}/file").returncode == 0


def saved(laptop: Laptop) -> str:
    """The file as the newest snapshot has it."""
    laptop.data("up", "--no-warm", *QUIET)
    return laptop.ssh(f"cat {WORK}/file").stdout


@pytest.mark.usefixtures("taken")
def test_clear_saves_the_running_node_also_while_a_hop_waits_in_the_queue(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1", *QUIET)
    laptop.data("autobackup", "off")
    with laptop.begin("hop", "--json") as hop:
        assert hop.stdout is not None
        for line in hop.stdout:
            if json.loads(line).get("state") == "pending":
                break
        write(laptop, "late")
        cleared = laptop.data("clear")
        hop.communicate()
    (file,) = laptop.data("snapshots", "show", cleared["snapshot"], "work")["entries"]
    assert file["size"] == len("late\n")
    assert len(minicluster.jobs()) == 1, "nobody's but bob's is left"


def test_clear_keeps_a_suspended_node(laptop: Laptop, minicluster: Minicluster) -> None:
    got = laptop.data("up", *QUIET)
    laptop.data("autobackup", "off")
    write(laptop, "unsaved")
    minicluster.exec("login", "scontrol", "suspend", str(got["job_id"]))
    refused = laptop.outcome("clear")
    assert (refused["code"], refused["exit_code"]) == ("clear.backup_failed", 24)
    assert laptop.outcome("up")["code"] == "allocation.suspended"
    status = laptop.data("status")
    assert status["allocation"]["state"] == "suspended"
    assert status["problems"] == []
    minicluster.exec("login", "scontrol", "resume", str(got["job_id"]))
    assert laptop.data("clear")["released"] is True


@pytest.mark.slow
def test_in_a_job_of_another_kind_the_scratch_there_is_not_the_workspace(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1", *QUIET)
    write(laptop, "old")
    laptop.data("clear")
    laptop.data("up", "--node", "3", *QUIET)
    laptop.data("autobackup", "off")
    write(laptop, "new")
    # A job of alice's that has nothing to do with us, on the node that still has the old copy.
    agent = minicluster.login("sh", "-c", "ls -d .local/share/scratchflow/agent/*/").stdout.split()[
        0
    ]
    profile = (laptop.home / "CONFIG/scratchflow/config.toml").read_text()
    profile = profile.replace('login = "login"', 'login = "local"')
    minicluster.run("exec", "-u", "alice", "login", "sh", "-c", f"cat > c.toml <<'E'\n{profile}\nE")
    clear = f"sh {agent}start clear --config c.toml --json"
    argv = ["srun", "--nodelist=node-1", "--time=2:00", "sh", "-c", clear]
    done = minicluster.run("exec", "-u", "alice", "login", *argv, check=False)
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["type"] == "summary", last
    assert laptop.data("snapshots", "list")["snapshots"][-1]["node"] == "node-3"
    assert saved(laptop) == "old\nnew\n"


@pytest.mark.slow
def test_a_hop_onto_a_warm_node_with_unsaved_work_finishes_and_keeps_it(laptop: Laptop) -> None:
    laptop.data("up", "--node", "1", *QUIET)
    write(laptop, "common")
    laptop.data("backup")
    laptop.data("autobackup", "off")
    write(laptop, "only-on-1")
    laptop.data("clear", "--no-backup")
    laptop.data("up", "--node", "2", *QUIET)
    write(laptop, "on-2")
    hopped = laptop.data("hop", "--node", "1")
    assert laptop.ssh(f"hostname; cat {WORK}/file").stdout == "node-1\ncommon\non-2\n"
    rows = laptop.data("snapshots", "list")["snapshots"]
    assert any(row["fork"] for row in rows)
    assert hopped["snapshot"] == [row["id"] for row in rows if not row["fork"]][-1]


@pytest.mark.slow
def test_a_hop_that_goes_on_does_not_roll_back_what_was_done_on_the_new_node(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1", *QUIET)
    write(laptop, "common")
    with laptop.begin("hop", "--node", "2", "--json") as hop:
        assert hop.stdout is not None
        for line in hop.stdout:
            if "`node-2` has snapshot" in line:
                break
        hop.kill()
    laptop.data("allocate")
    assert laptop.ssh("hostname").stdout == "node-1\n"  # where the work is until the move is done
    minicluster.run("exec", "-u", "alice", "node-2", "sh", "-c", f"echo on-2 >> {WORK}/file")
    finished = laptop.data("hop")
    assert finished["node"] == "node-2"
    assert laptop.ssh(f"cat {WORK}/file").stdout == "common\non-2\n"
    assert minicluster.jobs() == [str(finished["job_id"])]


def test_setup_is_not_removed_while_a_node_is_held(laptop: Laptop) -> None:
    laptop.data("allocate")
    refused = laptop.outcome("setup", "--remove", "--yes")
    assert (refused["code"], refused["exit_code"]) == ("allocation.held", 22)
    assert laptop.ssh("hostname").returncode == 0


@pytest.mark.slow
def test_a_warm_node_whose_sshd_is_dead_is_passed_over(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "2", *QUIET)
    laptop.data("clear")
    minicluster.run("stop", "node-2", "sshd")
    got = laptop.data("up", *QUIET)
    assert got["node"] != "node-2"
    retry_until(lambda: len(minicluster.jobs()) == 1, "the silent node was given back")
