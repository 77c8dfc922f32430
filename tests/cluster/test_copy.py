"""`snapshots copy` from a laptop: two profiles, each reached over ssh, each with a store of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until

WORK = "/scratch/alice/work"
STORES = {"mini": "/fsx/alice/store", "other": "/fsx/alice/other-store"}


@pytest.fixture
def two_stores(laptop: Laptop, minicluster: Minicluster) -> Iterator[Laptop]:
    """A workspace of 60 MB with two snapshots, and a profile whose store is empty."""
    minicluster.exec("login", "rm", "-rf", *STORES.values(), KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "rm", "-rf", WORK, "/scratch/alice/.scratchflow")
    node = laptop.data("allocate")["node"]
    laptop.data("create")
    on_node(minicluster, node, f"head -c 60M /dev/urandom > {WORK}/large")
    laptop.data("backup")
    on_node(minicluster, node, f"date > {WORK}/small")
    laptop.data("backup")
    same = ("--set", f"store={STORES['other']}", "--set", "workspace=work")
    laptop.data("profiles", "copy", "mini", "other", *same)
    laptop.data("profiles", "use", "mini")
    yield laptop
    laptop.run("profiles", "remove", "other", "--yes")


def on_node(minicluster: Minicluster, node: str, script: str) -> None:
    minicluster.run("exec", "-u", "alice", node, "sh", "-c", script)


def digests(minicluster: Minicluster, store: str) -> str:
    script = f"cd {store}/work && sha256sum *.tar.lz4 *Z-*.json"
    return minicluster.exec("login", "sh", "-c", script).stdout


@pytest.mark.parametrize("transport", ["paramiko", "openssh"])
@pytest.mark.slow
def test_snapshots_go_from_store_to_store(
    two_stores: Laptop, minicluster: Minicluster, transport: str
) -> None:
    laptop = two_stores
    copy = ("snapshots", "copy", "--all", "--to", "other", "--set", f"transport={transport}")
    planned = laptop.data(*copy, "--dry-run")
    running = laptop.begin(*copy)
    retry_until(lambda: arrived_bytes(minicluster) > 10_000_000, "some of it is there")
    running.send_signal(signal.SIGKILL)
    running.communicate()
    left = laptop.data(*copy, "--dry-run")["sent_bytes"]
    assert left < planned["sent_bytes"]
    done = laptop.data(*copy)
    assert [*done["already_there"], *done["copied"]] == planned["copied"]
    assert done["sent_bytes"] <= left
    assert digests(minicluster, STORES["other"]) == digests(minicluster, STORES["mini"])
    assert laptop.data("snapshots", "verify", "--profile", "other")["bad"] == []
    assert laptop.data(*copy)["sent_bytes"] == 0


def arrived_bytes(minicluster: Minicluster) -> int:
    script = f"stat -c %s {STORES['other']}/work/arriving/* 2>/dev/null | sort -n | tail -1"
    found = minicluster.exec("login", "sh", "-c", script, check=False).stdout.strip()
    return int(found or 0)
