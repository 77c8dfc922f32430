"""Hosts that use one store at once, each through its own view of it. On GlusterFS every host has its own mount."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.login import APP, ENVIRONMENT, ROOT
from tests.cluster.minicluster import KNOWN_STORES, Minicluster

STORE = "/fsx/alice/store"
WORK = "/scratch/alice/work"
TURNS = 4


class Hosts:
    """Runs `on_host.py` on a host."""

    def __init__(self, cluster: Minicluster) -> None:
        self.cluster = cluster
        shutil.copy(ROOT / "tests/cluster/on_host.py", cluster.shared(APP))

    def begin(self, host: str, verb: str, argument: str = "") -> subprocess.Popen[str]:
        program = ["env", *ENVIRONMENT, "python3", f"{APP}/on_host.py", STORE, verb, argument]
        return self.cluster.start("exec", "-u", "alice", host, *program)

    def run(self, host: str, verb: str, argument: str = "") -> Any:
        return ended(self.begin(host, verb, argument))


def ended(process: subprocess.Popen[str]) -> Any:
    said = process.communicate()[0]
    assert process.returncode == 0, said
    return json.loads(said.splitlines()[-1])


@pytest.fixture
def hosts(restored_minicluster: Minicluster, installed: Minicluster) -> Iterator[Hosts]:
    yield Hosts(installed)
    restored_minicluster.run("up")
    installed.exec("login", "rm", "-rf", STORE, KNOWN_STORES)
    for node in installed.node_states():
        installed.exec(node, "rm", "-rf", "/scratch/alice")


def test_on_gluster_every_host_has_a_mount_of_its_own(minicluster: Minicluster) -> None:
    """Otherwise the tests below would say nothing about hosts that see the store late."""
    hosts = ("login", *minicluster.node_states())
    mounts = [minicluster.exec(host, "stat", "-f", "-c", "%T %i", "/fsx").stdout for host in hosts]
    devices = {minicluster.exec(host, "stat", "-c", "%d", "/fsx").stdout for host in hosts}
    is_gluster = minicluster.settings["MC_FSX"] == "gluster"
    assert len(devices) == (len(hosts) if is_gluster else 1)
    assert all("fuse" in mount for mount in mounts) == is_gluster, mounts


def test_a_backup_is_seen_at_once_by_every_other_host(hosts: Hosts) -> None:
    for turn in range(TURNS):
        writer, reader = ("node-1", "node-2") if turn % 2 else ("node-2", "node-1")
        for host in ("login", reader):
            hosts.run(host, "list")  # which its file system may remember
        saved = hosts.run(writer, "backup", f"turn {turn}")
        assert hosts.run(reader, "restore") == [saved, f"turn {turn}"]
        assert hosts.run("login", "list")[-1] == saved


def test_hosts_that_back_up_and_prune_at_once_lose_nothing(hosts: Hosts) -> None:
    """Each host's last snapshot is the tip of its own history, which no rule removes."""
    writers = ("node-1", "node-2", "node-3")
    common = hosts.run("node-1", "backup", "where all of them begin")
    for host in writers[1:]:
        assert hosts.run(host, "restore")[0] == common
    begun = [hosts.begin(host, "backups", str(TURNS)) for host in writers]
    pruner = hosts.begin("login", "prunes", str(TURNS))
    last = dict(zip(writers, map(ended, begun), strict=True))
    assert ended(pruner) == "done"
    for host, snapshot in last.items():
        assert hosts.run(host, "restore", snapshot) == [snapshot, f"{host} {TURNS - 1}"]
    assert hosts.run("login", "verify") == []


def test_the_lock_of_a_node_that_lost_power_is_taken_over_elsewhere(hosts: Hosts) -> None:
    kept = hosts.run("node-2", "backup", "before")
    holder = hosts.begin("node-1", "hold")
    assert holder.stdout is not None
    assert holder.stdout.readline() == '"held"\n'
    refused = hosts.run("login", "take", "0")
    assert refused["code"] == "store.locked", refused
    assert "node-1" in refused["message"]

    waiting = hosts.begin("node-2", "take", "120")
    hosts.cluster.run("crash", "node-1")
    holder.communicate()
    assert ended(waiting) == "taken"
    assert hosts.run("node-2", "list") == [kept]
    saved = hosts.run("node-3", "backup", "after")
    assert hosts.run("login", "list")[-1] == saved


def test_the_daily_loop_brings_everything_along(laptop: Laptop, minicluster: Minicluster) -> None:
    laptop.data("up", "--node", "1")
    assert laptop.ssh(f"echo right > {WORK}/file").returncode == 0
    saved = laptop.data("backup")["snapshot"]
    assert laptop.data("snapshots", "list")["snapshots"][-1]["id"] == saved
    laptop.data("hop", "--node", "2")
    assert laptop.ssh(f"hostname; cat {WORK}/file; echo wrong > {WORK}/file").stdout == (
        "node-2\nright\n"
    )
    assert laptop.data("restore", saved)["snapshot"] == saved
    assert laptop.ssh(f"cat {WORK}/file").stdout == "right\n"
    assert laptop.data("clear")["released"] is True
    assert minicluster.jobs() == []
    assert laptop.data("snapshots", "verify")["bad"] == []


def test_a_node_that_lost_its_mount_saves_nothing_and_is_not_given_back(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1")
    laptop.data("autobackup", "off")
    assert laptop.ssh(f"echo precious > {WORK}/file").returncode == 0
    minicluster.exec("node-1", "umount", "--lazy", "/fsx")
    assert laptop.outcome("backup")["code"] == "store.not_shared"
    assert laptop.outcome("clear")["code"] == "clear.backup_failed"
    stores = [one for one in laptop.data("doctor")["checks"] if one["name"] == "store"]
    assert [one["ok"] for one in stores] == [True, False]
    assert "not the same directory" in stores[1]["detail"]
    minicluster.run("crash", "node-1")  # its mounts are made anew with the next boot
