"""The oracle on a cluster: a user's days at random, with accidents, and nothing is lost.

`SCRATCHFLOW_ORACLE_STEPS` says how many steps, `SCRATCHFLOW_ORACLE_SEED` which; `SCRATCHFLOW_ORACLE_ONLY`, like
`0,4,17`, takes only these of them, to find the fewest that fail. With `-s` each step is printed as it is done.
"""

from __future__ import annotations

import os
import random
import shutil
import time

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.ledger import Ledger
from tests.cluster.login import APP, ROOT
from tests.cluster.minicluster import KNOWN_STORES, Minicluster
from tests.cluster.steps import steps
from tests.cluster.story import Story
from tests.cluster.walk import Walk

STEPS = int(os.environ.get("SCRATCHFLOW_ORACLE_STEPS", "30"))
SEED = os.environ.get("SCRATCHFLOW_ORACLE_SEED", "1")
ONLY = {
    int(number) for number in os.environ.get("SCRATCHFLOW_ORACLE_ONLY", "").split(",") if number
}
SETTINGS = {"backup.every": "2s", "backup.keep_last": "100000", "backup.also": "[]"}


@pytest.fixture
def walk(laptop: Laptop, installed: Minicluster) -> Walk:
    installed.exec(
        "login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES, "/fsx/alice/brought-back"
    )
    for node in installed.node_states():
        installed.exec(node, "sh", "-c", "rm -rf /scratch/alice")
    shutil.copy(ROOT / "tests/cluster/bring_back.py", installed.shared(APP))
    for key, value in SETTINGS.items():
        laptop.data("config", "set", key, value)
    chance = random.Random(SEED)  # noqa: S311 - the same in every run
    return Walk(Story(laptop, installed, chance), Ledger(installed))


def test_nothing_is_lost_whatever_is_done_and_whatever_happens(walk: Walk) -> None:
    began_s = time.monotonic()
    try:
        for number, step in enumerate(steps(SEED, max({STEPS, *(one + 1 for one in ONLY)}))):
            if not ONLY or number in ONLY:
                print(f"{time.monotonic() - began_s:.0f} s, {number}: {step}", flush=True)  # noqa: T201
                walk.take(step)
        walk.finish()
    finally:
        counts, seen = walk.ledger.counts, len(walk.ledger.seen)
        print(f"seed {SEED}: {seen} contents", dict(sorted(counts.items())), flush=True)  # noqa: T201
