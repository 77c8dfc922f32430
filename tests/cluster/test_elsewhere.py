"""The same verbs from a second laptop, on the login host itself, and where tmux holds the job or is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.laptop import SETUP, Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until

START = ".local/share/scratchflow/agent/current/start"
ON_LOGIN = """\
[profiles.here]
login = "local"
store = "/fsx/alice/here"

[profiles.here.slurm]
time = "10:00"
"""


@pytest.fixture(autouse=True)
def no_workspace_is_left(minicluster: Minicluster) -> Iterator[None]:
    """Other tests begin without one."""
    yield
    for node in ("node-1", "node-2", "node-3"):
        minicluster.exec(node, "rm", "-rf", "/scratch/alice")
    minicluster.exec("login", "rm", "-rf", "/fsx/alice", KNOWN_STORES)


def our_sessions(minicluster: Minicluster) -> str:
    return minicluster.login("tmux", "-L", "scratchflow", "list-sessions", check=False).stdout


def test_a_second_laptop_sees_saves_and_lets_go_what_the_first_one_took(
    laptop: Laptop, minicluster: Minicluster, tmp_path: Path
) -> None:
    got = laptop.data("allocate")
    laptop.data("create")
    laptop.ssh("echo one > /scratch/alice/work/file")
    second = Laptop(tmp_path, minicluster)
    second.data(*SETUP, "--yes")
    seen = second.data("status")
    assert seen["allocation"]["job_id"] == got["job_id"]
    seen_problems = [problem["name"] for problem in seen["problems"]]
    assert seen_problems == ["autobackup.off", "alias.behind"]
    assert second.data("backup")["files"] == 1

    again = second.data("allocate")
    assert (again["job_id"], again["reused"]) == (got["job_id"], True)
    assert second.ssh("hostname").stdout.strip() == got["node"]
    assert second.data("clear")["released"] is True
    assert minicluster.jobs() == []
    assert second.ssh("hostname").returncode == 255
    assert [one["name"] for one in laptop.data("status")["problems"]] == ["alias.stale"]


@pytest.fixture
def on_login(laptop: Laptop, minicluster: Minicluster) -> Iterator[Minicluster]:
    """A configuration of the login host's own; the agent that `setup` left is the program there."""
    del laptop
    write = (
        f"mkdir -p .config/scratchflow; printf %s '{ON_LOGIN}' > .config/scratchflow/config.toml"
    )
    minicluster.login("sh", "-c", write)
    yield minicluster
    minicluster.login("rm", "-r", ".config/scratchflow")


def data(minicluster: Minicluster, *arguments: str) -> dict[str, Any]:
    """What it hands back when alice types it on the login host."""
    done = minicluster.login("sh", START, *arguments, "--json", check=False)
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["type"] == "summary", last
    found: dict[str, Any] = last["data"]
    return found


def test_on_the_login_host_everything_works_without_ssh(on_login: Minicluster) -> None:
    got = data(on_login, "allocate", "--node", "2")
    assert (got["node"], got["alias"]) == ("node-2", None)
    data(on_login, "create")
    on_login.exec("-u", "alice", "node-2", "sh", "-c", "echo one > /scratch/alice/work/file")
    assert data(on_login, "backup")["files"] == 1
    seen = data(on_login, "status")
    assert (seen["allocation"]["job_id"], seen["alias"]) == (got["job_id"], None)
    assert [problem["name"] for problem in seen["problems"]] == ["autobackup.off"]
    attached = data(on_login, "attach")["command"]
    assert attached == ["tmux", "-L", "scratchflow", "attach-session", "-t", "=scratchflow"]
    cleared = data(on_login, "clear")
    assert (cleared["released"], cleared["parked"]) == (True, False)
    assert on_login.jobs() == []
    assert our_sessions(on_login) == ""


def test_held_by_tmux_the_node_goes_with_the_session_and_status_says_so(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    held_by_tmux = ("--set", "hold=tmux")
    got = laptop.data("allocate", *held_by_tmux)
    assert laptop.ssh("hostname").stdout.strip() == got["node"]
    assert laptop.data("status", *held_by_tmux)["problems"] == []
    minicluster.login("tmux", "-L", "scratchflow", "kill-server")
    retry_until(lambda: minicluster.jobs() == [], "the job ends with its session")
    gone = laptop.data("status", *held_by_tmux)
    assert gone["allocation"] is None
    assert "alias.stale" in [problem["name"] for problem in gone["problems"]]


@pytest.fixture
def without_tmux(laptop: Laptop, minicluster: Minicluster) -> Iterator[Laptop]:
    """The login host as if nobody had installed tmux."""
    minicluster.exec("login", "mount", "--bind", "/dev/null", "/usr/bin/tmux")
    yield laptop
    minicluster.exec("login", "umount", "/usr/bin/tmux")


def test_without_tmux_a_detached_node_is_held_all_the_same(
    without_tmux: Laptop, minicluster: Minicluster
) -> None:
    refused = without_tmux.outcome("allocate", "--set", "hold=tmux")
    assert (refused["code"], refused["exit_code"]) == ("tmux.failed", 26)
    assert "detached" in refused["hint"]
    assert minicluster.jobs() == []

    got = without_tmux.data("allocate")
    assert without_tmux.ssh("hostname").stdout.strip() == got["node"]
    assert without_tmux.data("status")["problems"] == []
    assert without_tmux.outcome("attach")["exit_code"] == 26
    assert without_tmux.data("clear")["released"] is True
    assert minicluster.jobs() == []
