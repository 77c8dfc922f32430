"""`jobs code` restores the very snapshot of the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.flows.jobs import code as module
from scratchflow.flows.jobs.code import bring_code
from scratchflow.model.requests import EVERY_NODE, Restore
from scratchflow.model.results.jobs import JobInspected, JobShown
from scratchflow.model.results.restore import Restored
from tests.unit.flows.told import ToldCluster, give

JOB = JobShown(
    job="j",
    number=7,
    name="n",
    state="FAILED",
    time="",
    command=[],
    snapshot="s7",
    directory="/d",
    profile="p",
)
RESTORED = Restored(
    snapshot="s7",
    mode="full",
    target="/x",
    files=1,
    bytes=1,
    written_files=1,
    written_bytes=1,
    duration_s=0.0,
)


def test_it_is_the_jobs_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"jobs show": JobInspected(job=JOB), "restore": RESTORED}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
    bring_code(cluster.caller, cluster.emit, "7", Restore(to="/x"), None)
    assert cluster.asked[-1][:2] == ("restore", Restore(snapshot="s7", to="/x"))


@pytest.mark.parametrize(
    ("request_", "node"),
    [(Restore(), EVERY_NODE), (Restore(to="/x"), ""), (Restore(dry_run=True), "")],
)
def test_into_the_workspace_it_goes_to_every_node_as_a_restore_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: Restore, node: str
) -> None:
    answers = {"jobs show": JobInspected(job=JOB), "restore": RESTORED}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
    bring_code(cluster.caller, cluster.emit, "7", request_, None)
    assert cluster.nodes == [node]


def test_to_this_machine_it_is_taken_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, {"jobs show": JobInspected(job=JOB)}))
    taken: list[tuple[str, str]] = []

    def home(_: object, request: Restore, here: str, __: object) -> Restored:
        taken.append((request.snapshot, here))
        return RESTORED

    monkeypatch.setattr(module, "restore_here", home)
    bring_code(cluster.caller, cluster.emit, "7", Restore(), "~/job")
    assert taken == [("s7", "~/job")]
