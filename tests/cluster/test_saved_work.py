"""Which copy is the present work on a node, and whether what was saved of it is whole, on a real cluster."""

from __future__ import annotations

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster

WORK = "/scratch/alice/work"


@pytest.fixture(autouse=True)
def nothing_stored(minicluster: Minicluster) -> None:
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "sh", "-c", f"rm -rf {WORK}* /scratch/alice/.scratchflow")


def problems(laptop: Laptop) -> list[str]:
    return [problem["name"] for problem in laptop.data("status")["problems"]]


@pytest.mark.slow
def test_up_brings_the_newest_over_a_copy_that_a_backup_only_looked_at(laptop: Laptop) -> None:
    for node, text in (("1", "older"), ("2", "newer")):
        laptop.data("up", "--node", node)
        assert laptop.ssh(f"echo {text} > {WORK}/report").returncode == 0
        laptop.data("clear")
    laptop.data("allocate", "--node", "1")
    assert laptop.data("backup")["kind"] == "unchanged"
    assert "workspace.behind" in problems(laptop)
    assert laptop.data("up")["workspace"]["action"] == "restored"
    assert laptop.ssh(f"cat {WORK}/report").stdout == "newer\n"
    assert problems(laptop) == []


def test_clear_stores_anew_what_was_damaged_in_the_store(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    laptop.data("up", "--node", "1")
    assert laptop.ssh(f"head -c 300000 /dev/urandom > {WORK}/big").returncode == 0
    digest = laptop.ssh(f"sha256sum < {WORK}/big").stdout
    damaged = laptop.data("backup")["snapshot"]
    archive = f"/fsx/alice/store/work/{damaged}.tar.lz4"
    over = f"printf XXXX | dd of={archive} bs=1 seek=150000 conv=notrunc status=none"
    minicluster.exec("login", "sh", "-c", over)
    cleared = laptop.data("clear")
    assert (cleared["read_back_age_s"], cleared["released"]) == (0, True)
    assert cleared["snapshot"] != damaged
    assert laptop.data("snapshots", "verify", cleared["snapshot"])["bad"] == []
    laptop.data("up", "--node", "2")
    assert laptop.ssh(f"sha256sum < {WORK}/big").stdout == digest
