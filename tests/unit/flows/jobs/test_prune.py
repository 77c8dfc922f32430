"""`jobs prune` removes what was shown and agreed to."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.flows.jobs import prune as module
from scratchflow.flows.jobs.prune import prune
from scratchflow.model.errors.base import Declined
from scratchflow.model.requests import PruneJobs
from scratchflow.model.results.jobs import JobKept, JobPruned, JobsPruned
from tests.unit.flows.told import ToldCluster, give

FOUND = JobsPruned(
    removed=[
        JobPruned(job="j6", number=6, name="a", time="", given_up=True),
        JobPruned(job="j7", number=7, name="a", time=""),
    ],
    kept=[JobKept(job="j8", number=8, name="b", why="it made 1 file")],
)
DONE = JobsPruned(removed=FOUND.removed)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToldCluster:
    return give(monkeypatch, module, ToldCluster(tmp_path, {"jobs prune": [FOUND, DONE]}))


def test_what_was_shown_is_what_is_removed(cluster: ToldCluster) -> None:
    asked = PruneJobs(outputs=True)
    done = prune(cluster.caller, cluster.emit, asked, lambda _: True)
    assert [request for _, request, _ in cluster.asked] == [
        PruneJobs(outputs=True, dry_run=True),
        PruneJobs(wanted=("j6", "j7"), outputs=True, given_up=("j6",)),
    ]
    assert done.kept == FOUND.kept


def test_a_no_removes_nothing(cluster: ToldCluster) -> None:
    with pytest.raises(Declined):
        prune(cluster.caller, cluster.emit, PruneJobs(), lambda _: False)
    assert len(cluster.asked) == 1


def test_a_dry_run_asks_nobody(cluster: ToldCluster) -> None:
    found = prune(cluster.caller, cluster.emit, PruneJobs(dry_run=True), lambda _: False)
    assert found.dry_run
    assert len(cluster.asked) == 1
