"""`setup` and `nodes` as a user types them on the laptop, against a real cluster."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cluster.laptop import SETUP, SHORT, Laptop
from tests.cluster.minicluster import Minicluster


@pytest.fixture
def laptop(minicluster: Minicluster, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path, minicluster)


def test_setup_makes_a_cluster_usable_and_remove_gives_everything_back(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    before = laptop.ssh_config.read_bytes()
    long = laptop.lines(*SETUP, "--time", "8:00:00", "--yes")
    assert (long[-1]["code"], long[-1]["exit_code"]) == ("setup.incomplete", 10)
    (slurm,) = [line for line in long if line["type"] == "check" and line["name"] == "slurm"]
    assert (slurm["ok"], slurm["fix"]) == (False, "`--time 00:10:00`")

    done = laptop.outcome(*SETUP, "--yes")
    assert done["type"] == "summary", done
    assert all(check["ok"] for check in done["data"]["checks"]), done
    assert {check["name"] for check in done["data"]["checks"]} == {
        "slurm",
        "steps",
        "tmux",
        "store",
        "profile",
        "alias",
    }
    again = laptop.outcome(*SETUP, "--yes")
    assert (again["data"]["config_diff"], again["data"]["ssh_config_diff"]) == ("", "")

    nodes = laptop.outcome("nodes")["data"]["nodes"]
    assert [node["name"] for node in nodes] == ["node-1", "node-2", "node-3"]
    assert [node["gpus"] for node in nodes] == [0, 2, 2]
    assert "node-2" in laptop.run("nodes").stdout

    parked = ["ssh", "-F", str(laptop.ssh_config), "compile_machine", "hostname"]
    refused = subprocess.run(parked, capture_output=True, text=True, check=False)
    assert refused.returncode == 255
    assert "no allocation" in refused.stderr

    assert laptop.outcome("setup", "--remove", "--yes")["data"]["agent_removed"]
    assert laptop.ssh_config.read_bytes() == before
    assert [path.name for path in laptop.ssh_config.parent.iterdir()] == ["config"]
    assert minicluster.login("ls", "-A", ".local/share/scratchflow", check=False).stdout == ""


def test_a_dry_run_reaches_the_cluster_and_changes_nothing(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    before = laptop.files()
    done = laptop.outcome(*SETUP, "--dry-run", "--set", "slurm.gpus=2")
    assert "+gpus = 2" in done["data"]["config_diff"]
    assert "scratchflow.d/*.conf" in done["data"]["ssh_config_diff"]
    assert "[profiles.mini]" in done["data"]["config_diff"]
    assert '+time = "00:10:00"' in done["data"]["config_diff"]  # as Slurm's partition allows
    assert done["data"]["command"].startswith("salloc ")
    assert laptop.files() == before
    assert minicluster.login("ls", "-A", ".local/share/scratchflow", check=False).stdout == ""


def test_without_yes_nothing_is_asked_and_the_users_files_stay(laptop: Laptop) -> None:
    before = laptop.ssh_config.read_bytes()
    done = laptop.outcome(*SETUP)
    assert (done["code"], done["exit_code"]) == ("usage.declined", 2)
    assert laptop.ssh_config.read_bytes() == before
    assert not (laptop.home / "CONFIG/scratchflow/config.toml").exists()
    laptop.run("setup", "--remove", "--yes", "--set", "login=login", "--set", "scheduler=slurm")


def test_a_partition_that_does_not_exist_is_said_with_those_that_do(laptop: Laptop) -> None:
    lines = laptop.lines("setup", "login", "--name", "mini", "--partition", "nosuch", "--yes")
    (slurm,) = [line for line in lines if line["type"] == "check" and line["name"] == "slurm"]
    assert not slurm["ok"]
    assert "debug, gpu" in slurm["fix"]
    assert lines[-1]["exit_code"] == 10
    assert "--partition NAME" in lines[-1]["hint"]


def test_a_host_that_does_not_answer_is_a_lost_connection(laptop: Laptop) -> None:
    done = laptop.outcome("setup", "nosuch.invalid", "--yes")
    assert (done["type"], done["exit_code"]) == ("error", 14), done
    assert not (laptop.home / "CONFIG/scratchflow/config.toml").exists()


@pytest.mark.slow
def test_nodes_while_slurm_is_away_is_exit_20(
    laptop: Laptop, restored_minicluster: Minicluster
) -> None:
    laptop.outcome(*SETUP, "--yes")
    restored_minicluster.run("stop", "login", "slurmctld")
    done = laptop.outcome("nodes")
    assert (done["code"], done["exit_code"]) == ("slurm.unreachable", 20), done
    restored_minicluster.run("up")
    laptop.outcome("setup", "--remove", "--yes")


@pytest.mark.slow
def test_removing_one_profile_leaves_what_another_one_uses(
    laptop: Laptop, restored_minicluster: Minicluster
) -> None:
    """Two profiles on one login host, the second with a node and an auto-backup."""
    before = laptop.ssh_config.read_bytes()
    laptop.data(*SETUP, "--yes", *SHORT)
    second = ("setup", "login", "--name", "second", "--store", "/fsx/$USER/second", *SHORT)
    laptop.data(*second, "--yes", "--set", "alias=second_machine", "--set", "workspace=other")
    held = laptop.data("up", "--profile", "second", "--set", "backup.every=1h")

    done = laptop.data("setup", "--remove", "--profile", "mini", "--yes")
    assert not done["agent_removed"]
    assert any("`second`" in kept for kept in done["kept"]), done
    assert not (laptop.ssh_config.parent / "scratchflow.d/compile_machine.conf").exists()
    argv = ["ssh", "-F", str(laptop.ssh_config), "-o", "BatchMode=yes", "second_machine"]
    reached = subprocess.run([*argv, "hostname"], capture_output=True, text=True, check=True)
    assert reached.stdout.strip() == held["node"]
    assert (
        "start"
        in restored_minicluster.login(
            "sh", "-c", "ls ~/.local/share/scratchflow/agent/current/"
        ).stdout
    )
    assert laptop.data("autobackup", "status", "--profile", "second")["autobackup"]["enabled"]

    refused = laptop.outcome("setup", "--remove", "--all", "--profile", "second", "--yes")
    assert refused["code"] == "allocation.held"
    laptop.data("clear", "--profile", "second")
    gone = laptop.data("setup", "--remove", "--profile", "second", "--yes")
    assert (gone["agent_removed"], gone["kept"]) == (True, [])
    assert laptop.ssh_config.read_bytes() == before


@pytest.mark.slow
def test_the_agent_stays_while_a_job_of_another_laptops_profile_runs(
    restored_minicluster: Minicluster, tmp_path: Path
) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = (Laptop(tmp_path / name, restored_minicluster) for name in ("one", "other"))
    one.data(*SETUP, "--yes", *SHORT)
    theirs = ("setup", "login", "--name", "theirs", "--store", "/fsx/$USER/theirs", *SHORT)
    other.data(*theirs, "--yes", "--set", "workspace=theirs")
    other.data("up", "--set", "backup.every=1h")
    done = one.data("setup", "--remove", "--yes")
    assert not done["agent_removed"]
    assert "job" in done["kept"][0]
    assert other.data("clear")["released"]
    assert other.data("setup", "--remove", "--yes")["agent_removed"]
