"""The daily loop as a user types it: `up`, work, `autobackup`, `hop`, `clear`."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until

WORK = "/scratch/alice/work"


@pytest.fixture(autouse=True)
def nothing_stored(minicluster: Minicluster) -> None:
    """An empty store and empty scratches, so that each test tells its own story."""
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "rm", "-rf", WORK, "/scratch/alice/.scratchflow")


def snapshots(laptop: Laptop) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = laptop.data("snapshots", "list")["snapshots"]
    return found


def steps(minicluster: Minicluster) -> list[str]:
    argv = ["squeue", "--steps", "--noheader", "--format=%i"]
    return minicluster.exec("login", *argv).stdout.split()


def write(laptop: Laptop, name: str, text: str) -> None:
    assert laptop.ssh(f"echo {text} > {WORK}/{name}").returncode == 0


def opened(laptop: Laptop) -> list[str]:
    """The words that `open` gives to the editor's own command."""
    program = laptop.home / "bin" / "code"
    program.parent.mkdir(exist_ok=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$HOME/opened"\n')
    program.chmod(0o755)
    environment = {**laptop.environment, "PATH": f"{program.parent}:{laptop.environment['PATH']}"}
    done = subprocess.run(
        laptop.argv("open"), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    return (laptop.home / "opened").read_text().split("\n")


def test_up_does_what_is_missing_and_a_second_time_nothing_and_open_runs_the_editor(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    first = laptop.data("up")
    assert (first["workspace"]["action"], first["autobackup"]["enabled"]) == ("created", True)
    assert first["editor"]["command"] == ["code", "--remote", "ssh-remote+compile_machine", WORK]
    assert first["editor"]["link"] == f"vscode://vscode-remote/ssh-remote+compile_machine{WORK}"
    before = (minicluster.jobs(), steps(minicluster), laptop.files())
    second = laptop.data("up")
    assert (second["changed"], second["job_id"]) == (False, first["job_id"])
    assert (minicluster.jobs(), steps(minicluster), laptop.files()) == before
    assert opened(laptop)[:3] == ["--remote", "ssh-remote+compile_machine", WORK]

    write(laptop, "kept", "yes")
    laptop.data("clear")
    third = laptop.data("up", "--node", "3")
    assert third["workspace"]["action"] == "restored"
    assert laptop.ssh(f"cat {WORK}/kept").stdout == "yes\n"


def test_the_auto_backup_needs_neither_laptop_nor_tmux_nor_anything_on_the_login_host(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--set", "backup.every=2s")
    minicluster.login("tmux", "-L", "scratchflow", "kill-server")
    minicluster.exec("login", "pkill", "-KILL", "--uid", "alice", check=False)
    write(laptop, "later", "saved")
    retry_until(lambda: snapshots(laptop)[-1]["files"] == 1, "a snapshot has the file")
    assert snapshots(laptop)[-1]["message"] == "automatic"
    result = laptop.data("autobackup", "status")
    assert (result["autobackup"]["enabled"], result["autobackup"]["overdue"]) == (True, False)
    assert "nice" in result["autobackup"]["priority"]

    assert laptop.data("autobackup", "off")["changed"] is True
    assert laptop.data("autobackup", "status")["autobackup"]["enabled"] is False
    assert laptop.data("autobackup", "off")["changed"] is False


def test_hop_moves_everything_and_gives_the_old_node_back(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    first = laptop.data("up", "--node", "1")
    write(laptop, "file", "moved")
    assert laptop.outcome("hop", "--node", "1")["exit_code"] == 2
    hopped = laptop.data("hop", "--node", "2")
    assert (hopped["from_node"], hopped["node"]) == ("node-1", "node-2")
    assert minicluster.jobs() == [str(hopped["job_id"])]
    assert laptop.ssh("hostname").stdout == "node-2\n"
    assert laptop.ssh(f"cat {WORK}/file").stdout == "moved\n"
    status = laptop.data("status")
    assert (status["problems"], status["autobackup"]["enabled"]) == ([], True)
    assert hopped["from_job_id"] == first["job_id"]


@pytest.mark.parametrize("after", [pytest.param("state", marks=pytest.mark.slow), "log"])
def test_a_hop_that_was_killed_is_finished_by_the_next_one(
    laptop: Laptop, minicluster: Minicluster, after: str
) -> None:
    laptop.data("up", "--node", "1")
    write(laptop, "file", "moved")
    with laptop.begin("hop", "--node", "2", "--json") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if f'"type":"{after}"' in line:
                break
        process.kill()
    finished = laptop.data("hop", "--node", "2")
    assert finished["node"] == "node-2"
    assert minicluster.jobs() == [str(finished["job_id"])]
    assert laptop.ssh(f"hostname; cat {WORK}/file").stdout == "node-2\nmoved\n"


def test_two_nodes_that_both_changed_are_both_kept(laptop: Laptop) -> None:
    laptop.data("up", "--node", "1")
    write(laptop, "file", "common")
    laptop.data("backup")
    laptop.data("autobackup", "off")
    write(laptop, "file", "only-on-node-1")
    laptop.data("clear", "--no-backup")

    laptop.data("up", "--node", "2")
    assert laptop.ssh(f"cat {WORK}/file").stdout == "common\n"
    write(laptop, "file", "went-on-at-node-2")
    left = laptop.data("clear")["snapshot"]

    back = laptop.data("up", "--node", "1")
    assert laptop.ssh(f"cat {WORK}/file").stdout == "went-on-at-node-2\n"
    safe = back["workspace"]["restored"]["safety_snapshot"]
    assert laptop.data("restore", safe)["snapshot"] == safe
    assert laptop.ssh(f"cat {WORK}/file").stdout == "only-on-node-1\n"
    forks = [row["id"] for row in snapshots(laptop) if row["fork"]]
    assert left in forks  # the newest went on from the other one
    assert safe not in forks


def test_clear_keeps_the_node_when_the_last_backup_fails(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up")
    write(laptop, "file", "precious")
    minicluster.exec("login", "chown", "root", "/fsx/alice/store/work")
    refused = laptop.outcome("clear")
    assert refused["type"] == "error", refused
    assert refused["code"] == "clear.backup_failed"
    assert len(minicluster.jobs()) == 1
    minicluster.exec("login", "chown", "alice", "/fsx/alice/store/work")
    assert laptop.data("clear")["released"] is True
