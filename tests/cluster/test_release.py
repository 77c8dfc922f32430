"""`clear` and `hop` give a node back only when everything of ours on it is in a snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.login import APP, copy_package, install
from tests.cluster.minicluster import KNOWN_STORES, Minicluster

WORK = "/scratch/alice/work"


@pytest.fixture(autouse=True)
def nothing_stored(minicluster: Minicluster) -> None:
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "sh", "-c", f"rm -rf {WORK}* /scratch/alice/.scratchflow")


@pytest.fixture
def working(laptop: Laptop) -> Iterator[Laptop]:
    """On node-1, with a file in the workspace."""
    laptop.data("up", "--node", "1")
    assert laptop.ssh(f"echo mine > {WORK}/file").returncode == 0
    yield laptop
    laptop.data("config", "set", "workspace", "work")


def leave_as_a_container_does(minicluster: Minicluster) -> None:
    made = f"echo precious > {WORK}/result && chown root {WORK}/result && chmod 600 {WORK}/result"
    minicluster.exec("node-1", "sh", "-c", made)


@pytest.mark.parametrize("verb", ["clear", "hop"])
def test_a_file_of_root_keeps_the_node_until_it_is_mended_or_left_behind(
    working: Laptop, minicluster: Minicluster, verb: str
) -> None:
    leave_as_a_container_does(minicluster)
    jobs = minicluster.jobs()
    refused = working.outcome(verb)
    assert (refused["code"], refused["exit_code"]) == ("release.not_saved", 35), refused
    assert "`work/result`" in refused["message"]
    assert f"{verb} --leave-behind" in refused["hint"]
    assert minicluster.jobs() == jobs
    if verb == "hop":
        minicluster.exec("node-1", "chown", "alice", f"{WORK}/result")
        assert working.data("hop")["unsaved"] == 0
        assert working.ssh(f"cat {WORK}/result").stdout == "precious\n"
    else:
        cleared = working.data("clear", "--leave-behind")
        assert (cleared["released"], cleared["unsaved_paths"]) == (True, ["work/result"])
        assert minicluster.jobs() == []


def test_a_workspace_that_was_renamed_in_the_configuration_is_saved_before_the_node_goes(
    working: Laptop, minicluster: Minicluster
) -> None:
    working.data("config", "set", "workspace", "work2")
    leave_as_a_container_does(minicluster)
    assert working.outcome("clear")["code"] == "release.not_saved"
    minicluster.exec("node-1", "rm", "-f", f"{WORK}/result")
    assert working.data("clear")["released"] is True
    working.data("config", "set", "workspace", "work")
    working.data("up", "--node", "2")
    assert working.ssh(f"cat {WORK}/file").stdout == "mine\n"


@pytest.mark.usefixtures("working")
@pytest.mark.parametrize("verb", ["clear", "hop"])
def test_typed_on_the_node_itself_it_says_how_it_ended_before_the_node_goes(
    minicluster: Minicluster, verb: str
) -> None:
    """As in the shell that `attach` shows: the command is a part of the job that it gives back."""
    (job,) = minicluster.jobs()
    outcome = typed_on_node(minicluster, job, verb)
    assert outcome["type"] == "summary", str(outcome)[-400:]
    assert outcome["data"]["snapshot"]
    assert job not in minicluster.jobs()
    assert tmux_on_node(minicluster) == ""


@pytest.mark.usefixtures("working")
def test_up_typed_on_the_node_itself_leaves_no_tmux_server_there(minicluster: Minicluster) -> None:
    (job,) = minicluster.jobs()
    outcome = typed_on_node(minicluster, job, "up")
    assert outcome["type"] == "summary", str(outcome)[-400:]
    assert tmux_on_node(minicluster) == ""


def tmux_on_node(minicluster: Minicluster) -> str:
    """The sessions of our tmux server on node-1."""
    ask = ["runuser", "-u", "alice", "--", "tmux", "-L", "scratchflow", "list-sessions"]
    return minicluster.exec("node-1", *ask, check=False).stdout


def typed_on_node(minicluster: Minicluster, job: str, verb: str) -> dict[str, Any]:
    """The outcome of a command that is typed in a step of the job."""
    install(minicluster)
    for name in ("typer", "rich", "shellingham", "annotated_doc", "platformdirs"):
        copy_package(minicluster, name)
    config = f"{APP}/config.toml"
    minicluster.shared(config).write_text(
        '[profiles.mini]\nscratch = "/scratch/$USER"\nstore = "/fsx/$USER/store"\n'
        '[profiles.mini.slurm]\ntime = "10:00"\n'
    )
    program = [
        "env",
        f"PYTHONPATH={APP}",
        "python3",
        "-m",
        "scratchflow",
        "--config",
        config,
        "-p",
        "mini",
        "--json",
        verb,
    ]
    done = minicluster.in_job(job, "node-1", *program, check=False)
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return outcome
