"""`hop --to`: onto another cluster, here another profile with a scratch and a store of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster

WORK = "/scratch/alice/work"
THERE = "/scratch/alice/two/work"
STORES = ("/fsx/alice/store", "/fsx/alice/other-store")
MEGABYTES = 30


@pytest.fixture
def two(laptop: Laptop, minicluster: Minicluster) -> Iterator[Laptop]:
    """A workspace of 30 MB on a node of `mini`, and a profile `other`."""
    forget(minicluster)
    same = (
        "--set",
        f"store={STORES[1]}",
        "--set",
        "workspace=work",
        "--set",
        "scratch=/scratch/$USER/two",
    )
    laptop.data("profiles", "copy", "mini", "other", *same)
    laptop.data("profiles", "use", "mini")
    yield laptop
    laptop.run("clear", "--no-backup", "--profile", "other")
    laptop.run("profiles", "remove", "other", "--yes")


def forget(minicluster: Minicluster) -> None:
    minicluster.exec("login", "rm", "-rf", *STORES, KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "sh", "-c", "rm -rf /scratch/alice/* /scratch/alice/.scratchflow")


def start_working(laptop: Laptop) -> str:
    """The digest of what is there."""
    laptop.data("up")
    laptop.run(
        "run", "--", "sh", "-c", f"head -c {MEGABYTES}M /dev/urandom > large; date +%N > small"
    )
    return digest(laptop)


def digest(laptop: Laptop, *profile: str) -> str:
    done = laptop.run(*profile, "run", "--", "sh", "-c", "sha256sum large small")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_everything_moves_and_the_node_here_is_given_back(two: Laptop) -> None:
    before = start_working(two)
    done = two.data("hop", "--to", "other")
    assert (done["source"], done["to"], done["left_behind"]) == ("mini", "other", None)
    assert digest(two, "-p", "other") == before
    assert two.data("status")["allocation"] is None
    there = two.data("status", "--profile", "other")
    assert there["workspace"]["base_snapshot"] == done["snapshot"]
    assert there["autobackup"]["enabled"]
    two.run("-p", "other", "run", "--", "sh", "-c", "echo more > small")
    changed = digest(two, "-p", "other")
    back = two.data("hop", "--to", "mini", "--profile", "other")
    assert digest(two) == changed
    assert back["sent_bytes"] < 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["mini", "other"])
def test_work_on_both_sides_stops_it_and_each_way_of_the_hint_ends_it(
    two: Laptop, kept: str
) -> None:
    start_working(two)
    two.data("hop", "--to", "other")
    two.data("up")  # the node here again, with the same work
    two.run("run", "--", "sh", "-c", "echo here > small")
    two.run("-p", "other", "run", "--", "sh", "-c", "echo there > small")
    stopped = two.outcome("hop", "--to", "other")
    assert (stopped["code"], stopped["exit_code"]) == ("hop.clusters_diverged", 37)
    steps = [
        step.split()[1:]
        for step in re.findall("`(scratchflow [^`]+)`", stopped["hint"])
        if (step.split()[-1] == "clear") == (kept == "other")
    ]
    assert len(steps) == (1 if kept == "other" else 3)
    for step in steps:
        done = two.run(*step)
        assert done.returncode == 0, (step, done.stderr)
    assert two.data("status")["allocation"] is None
    said = two.run("-p", "other", "run", "--", "cat", "small").stdout
    assert said == ("there\n" if kept == "other" else "here\n")
    for profile in ("mini", "other"):
        assert two.data("snapshots", "verify", "--profile", profile)["bad"] == []
