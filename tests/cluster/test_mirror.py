"""The mirror on a cluster: the node takes the snapshots, the login host sends them, and a lost store comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until

WORK = "/scratch/alice/work"
STORE = "/fsx/alice/store"
MIRROR = "/fsx/alice/mirror"


@pytest.fixture
def mirrored(laptop: Laptop, minicluster: Minicluster) -> Iterator[Laptop]:
    """A node with a workspace, whose profile has a mirror."""
    minicluster.exec("login", "rm", "-rf", STORE, MIRROR, KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "rm", "-rf", WORK, "/scratch/alice/.scratchflow")
    laptop.data("allocate")
    laptop.data("create")
    laptop.data("config", "set", "backup.mirror", MIRROR)
    yield laptop
    laptop.run("autobackup", "off")
    laptop.run("config", "unset", "backup.mirror")


def listed(minicluster: Minicluster) -> list[str]:
    """The snapshots on the mirror."""
    script = f"cd {MIRROR}/work 2>/dev/null && ls | grep 'Z-.*json$' | cut -d . -f 1"
    return minicluster.exec("login", "sh", "-c", script, check=False).stdout.split()


def keeper(minicluster: Minicluster) -> dict[str, object]:
    """Who keeps the mirror; empty when nobody does."""
    script = f"cat {STORE}/work/mirror/keeper/lock.d/owner.json"
    said = minicluster.exec("login", "sh", "-c", script, check=False).stdout
    return json.loads(said) if said else {}


@pytest.mark.slow
def test_what_the_auto_backup_saves_is_sent_by_the_login_host_and_brings_a_lost_store_back(
    mirrored: Laptop, minicluster: Minicluster
) -> None:
    laptop = mirrored
    node = laptop.data("autobackup", "on", "--set", "backup.every=2s")["node"]
    retry_until(lambda: keeper(minicluster).get("host") == "login", "the login host keeps it")
    before = listed(minicluster)
    script = f"date > {WORK}/made-on-the-node"
    minicluster.run("exec", "-u", "alice", node, "sh", "-c", script)
    retry_until(lambda: len(listed(minicluster)) > max(1, len(before)), "it arrives by itself")
    laptop.data("autobackup", "off")
    retry_until(lambda: not keeper(minicluster), "nothing is left running")
    ids = [one["id"] for one in laptop.data("snapshots", "list")["snapshots"]]
    assert listed(minicluster) == ids
    assert laptop.data("status")["mirror"]["missing"] == 0
    minicluster.exec("login", "rm", "-rf", STORE)
    lost = laptop.outcome("snapshots", "import", "--from-mirror", "--all")
    assert lost["code"] == "store.lost"
    minicluster.exec("login", "rm", "-rf", KNOWN_STORES)
    assert laptop.data("snapshots", "import", "--from-mirror", "--all")["fetched"] == ids
    assert laptop.data("snapshots", "verify")["bad"] == []
    assert laptop.data("backup")["kind"] == "unchanged"  # the workspace goes on with it
