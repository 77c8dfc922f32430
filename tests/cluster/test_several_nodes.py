"""An allocation of several nodes: an alias for each, the workspace on all of them, and no copy is lost or merged."""

from __future__ import annotations

import subprocess

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster

WORK = "/scratch/alice/work"
NODES = ["node-1", "node-2", "node-3"]
THREE = ("--set", "slurm.nodes=3")


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


def test_every_node_has_an_alias_until_the_job_has_fewer(laptop: Laptop) -> None:
    got = laptop.data("allocate", *THREE)
    assert (got["node"], got["nodes"]) == ("node-1", NODES)
    names = ["compile_machine", "compile_machine-2", "compile_machine-3"]
    assert [by_alias(laptop, name, "hostname").stdout.strip() for name in names] == NODES
    shown = laptop.data("status")
    assert shown["allocation"]["nodes"] == NODES
    assert shown["alias"]["others"] == NODES[1:]
    assert shown["problems"] == []
    laptop.data("clear")
    for name in names:
        assert "scratchflow: this host is parked" in by_alias(laptop, name, "true").stderr
    laptop.data("allocate", "--node", "2")
    assert by_alias(laptop, names[0], "hostname").stdout == "node-2\n"
    assert "Could not resolve" in by_alias(laptop, names[1], "true").stderr
