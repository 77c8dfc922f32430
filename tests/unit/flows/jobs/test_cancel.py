"""`cancel` ends what was shown and agreed to."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.flows.jobs import cancel as module
from scratchflow.flows.jobs.cancel import cancel
from scratchflow.model.errors.base import Declined
from scratchflow.model.requests import CancelJobs
from scratchflow.model.results.jobs import JobsCancelled
from tests.unit.flows.told import ToldCluster, give

FOUND = JobsCancelled(cancelled=["7", "8_1"], names=["a", "b"])
NONE = JobsCancelled(cancelled=[], names=[])


def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: JobsCancelled) -> ToldCluster:
    return give(monkeypatch, module, ToldCluster(tmp_path, {"cancel": found}))


def test_what_was_shown_is_what_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = made(tmp_path, monkeypatch, FOUND)
    cancel(cluster.caller, cluster.emit, CancelJobs(mine=True), lambda _: True)
    assert [request for _, request, _ in cluster.asked] == [
        CancelJobs(mine=True, dry_run=True),
        CancelJobs(wanted=("7", "8_1")),
    ]


def test_a_no_cancels_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = made(tmp_path, monkeypatch, FOUND)
    with pytest.raises(Declined):
        cancel(cluster.caller, cluster.emit, CancelJobs(mine=True), lambda _: False)
    assert len(cluster.asked) == 1


def test_nothing_is_asked_when_there_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = made(tmp_path, monkeypatch, NONE)
    assert cancel(cluster.caller, cluster.emit, CancelJobs(mine=True), lambda _: False) == NONE
