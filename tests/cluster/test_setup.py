"""`setup` and `nodes` as a user types them on the laptop, against a real cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .minicluster import Minicluster

SETUP = ("setup", "login", "--name", "mini", "--store", "/fsx/$USER/store", "--partition", "debug")


class Laptop:
    """A home of its own, whose ssh config knows the cluster."""

    def __init__(self, home: Path, cluster: Minicluster) -> None:
        self.home = home
        self.ssh_config = home / ".ssh" / "config"
        self.ssh_config.parent.mkdir(mode=0o700)
        self.ssh_config.write_bytes(cluster.ssh_config.read_bytes())
        self.ssh_config.chmod(0o600)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        places = {f"XDG_{kind}_HOME": str(self.home / kind) for kind in ("CONFIG", "DATA", "STATE")}
        return subprocess.run(
            [sys.executable, "-m", "scratchflow", *arguments],
            env={**os.environ, **places, "HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def outcome(self, *arguments: str) -> dict[str, Any]:
        done = self.run(*arguments, "--json")
        last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        assert last["exit_code"] == done.returncode
        return last

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*"))


@pytest.fixture
def laptop(minicluster: Minicluster, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path, minicluster)


def test_setup_makes_a_cluster_usable_and_remove_gives_everything_back(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    before = laptop.ssh_config.read_bytes()
    done = laptop.outcome(*SETUP, "--yes")
    assert done["type"] == "summary", done
    assert all(check["ok"] for check in done["data"]["checks"]), done
    assert {check["name"] for check in done["data"]["checks"]} == {
        "slurm",
        "tmux",
        "store",
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
    done = laptop.outcome(*SETUP, "--dry-run")
    assert "scratchflow.d/*.conf" in done["data"]["ssh_config_diff"]
    assert "[profiles.mini]" in done["data"]["config_diff"]
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
    done = laptop.outcome("setup", "login", "--name", "mini", "--partition", "nosuch", "--yes")
    (slurm,) = [check for check in done["data"]["checks"] if check["name"] == "slurm"]
    assert not slurm["ok"]
    assert "debug, gpu" in slurm["fix"]
    laptop.outcome("setup", "--remove", "--yes")


def test_a_host_that_does_not_answer_is_a_lost_connection(laptop: Laptop) -> None:
    done = laptop.outcome("setup", "nosuch.invalid", "--yes")
    assert (done["type"], done["exit_code"]) == ("error", 14), done
    assert not (laptop.home / "CONFIG/scratchflow/config.toml").exists()


def test_nodes_while_slurm_is_away_is_exit_20(
    laptop: Laptop, restored_minicluster: Minicluster
) -> None:
    laptop.outcome(*SETUP, "--yes")
    restored_minicluster.run("stop", "login", "slurmctld")
    done = laptop.outcome("nodes")
    assert (done["code"], done["exit_code"]) == ("slurm.unreachable", 20), done
    restored_minicluster.run("up")
    laptop.outcome("setup", "--remove", "--yes")
