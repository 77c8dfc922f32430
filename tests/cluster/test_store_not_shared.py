"""A store that every host has for itself: nothing on it is called safe, and no node is given back for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.laptop import SHORT, Laptop
from tests.cluster.minicluster import Minicluster

# Each host of the cluster has a `/tmp` of its own, under the same name.
STORE = "/tmp/store-of-alice"
SETUP = ("setup", "login", "--name", "mini", "--store", STORE, "--partition", "debug", *SHORT)


@pytest.fixture
def laptop(restored_minicluster: Minicluster, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path, restored_minicluster)


def test_a_store_that_is_not_shared_gets_no_snapshot_and_costs_no_node(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data(*SETUP, "--yes")
    node = laptop.data("allocate", "--wait", "60s")["node"]
    minicluster.exec("-u", "alice", node, "mkdir", "-p", "/scratch/alice/work")
    minicluster.exec("-u", "alice", node, "touch", "/scratch/alice/work/precious")

    refused = laptop.outcome("backup")
    assert (refused["code"], refused["exit_code"]) == ("store.not_shared", 10), refused
    assert node in refused["message"]
    assert "login" in refused["message"]
    assert STORE in refused["message"]

    kept = laptop.outcome("clear")
    assert kept["type"] == "error", kept
    assert laptop.data("status")["allocation"]["node"] == node

    checks = laptop.data("doctor")["checks"]
    bad = [check for check in checks if check["name"] == "store" and not check["ok"]]
    assert len(bad) == 1, checks
    assert "not the same directory" in bad[0]["detail"]

    assert laptop.outcome("autobackup", "on")["type"] == "error"
    laptop.data("clear", "--no-backup")
    laptop.data("setup", "--remove", "--yes")
