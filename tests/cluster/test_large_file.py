"""A large file that changes a little, on a real cluster: little is stored, and every state of it comes back."""

from __future__ import annotations

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster

WORK = "/scratch/alice/work"
MIB = 1 << 20


@pytest.fixture(autouse=True)
def nothing_stored(minicluster: Minicluster) -> None:
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "sh", "-c", f"rm -rf {WORK}* /scratch/alice/.scratchflow")


def digest(laptop: Laptop) -> str:
    return laptop.ssh(f"sha256sum < {WORK}/model").stdout


def archive_bytes(minicluster: Minicluster, snapshot: str) -> int:
    path = f"/fsx/alice/store/work/{snapshot}.tar.lz4"
    return int(minicluster.exec("login", "stat", "-c", "%s", path).stdout)


@pytest.mark.slow
def test_little_of_a_changed_checkpoint_is_stored_and_all_of_its_states_come_back(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1")
    assert laptop.ssh(f"head -c {9 * MIB} /dev/urandom > {WORK}/model").returncode == 0
    states = {laptop.data("backup")["snapshot"]: digest(laptop)}
    for change in (
        f"printf changed | dd of={WORK}/model bs=1 seek={4 * MIB} conv=notrunc status=none",
        f"head -c 1000 /dev/urandom >> {WORK}/model",
        f"{{ echo first; cat {WORK}/model; }} > {WORK}/new && mv {WORK}/new {WORK}/model",
    ):
        assert laptop.ssh(change).returncode == 0
        taken = laptop.data("backup")["snapshot"]
        assert archive_bytes(minicluster, taken) < 2 * MIB
        states[taken] = digest(laptop)
    assert len(set(states.values())) == 4

    # Another node has nothing: all of it comes from four archives.
    *_, newest = states
    laptop.data("hop", "--node", "2")
    assert digest(laptop) == states[newest]

    # On a node that has it, only the difference is written.
    for snapshot, expected in states.items():
        laptop.data("restore", snapshot)
        assert digest(laptop) == expected
    oldest, *_ = states
    laptop.data("snapshots", "prune", oldest, "--yes")
    assert laptop.data("snapshots", "verify")["bad"] == []
    laptop.data("restore", newest, "--replace")
    assert digest(laptop) == states[newest]
