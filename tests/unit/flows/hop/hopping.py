"""A cluster for tests of `hop`: the next node is granted, and the old job is gone by then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from scratchflow.flows.hop import hop as flow
from scratchflow.model.errors.allocation import AllocationEnded, NodeSilent
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.profile import Profile
from scratchflow.model.requests import Hold
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.model.results.backup import BackupTaken, NodeSaved
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.status import AllocationShown, JobsShown

OLD, NEW = 53, 54
SILENT = NodeSilent(node="node-3", job_id=NEW, reason="exit code 233: srun: Job step aborted")
TAKEN = BackupTaken(
    snapshot="a",
    kind="unchanged",
    parent=None,
    files=1,
    bytes=1,
    changed_files=0,
    changed_bytes=0,
    stored_bytes=0,
    duration_s=0,
)
ENDED = AllocationEnded(job_id=OLD, reason="it was cancelled")


class Cluster:
    """A cluster whose old job is ended by somebody else as soon as the next one is granted."""

    def __init__(self, left: list[int] | ScratchflowError) -> None:
        self.settings = SimpleNamespace(name="p", profile=Profile(scheduler="slurm"))
        self.jobs: list[int] | ScratchflowError = [OLD]
        self.meant = OLD
        self._left = left

    def emit(self, _: object) -> None:
        """Nobody listens."""

    def on_login(self, do: str, *_: object, **__: object) -> JobsShown | NodeHeld:
        if do == "jobs open":
            if isinstance(self.jobs, ScratchflowError):
                raise self.jobs
            return JobsShown(jobs=[open_job(number) for number in self.jobs], meant=self.meant)
        assert do == "hold"
        self.jobs = self._left
        return NodeHeld(
            job_id=NEW,
            node="node-3",
            partition="p",
            end_time=None,
            reused=False,
            warm=None,
            user="u",
            host_keys=[],
            session=None,
        )

    def at_workspace(self, do: str, *_: object, job_id: int) -> NodeSaved | Settled | BackupTaken:
        assert job_id == OLD
        if do == "settle":
            return Settled(action="nothing", path="/s/work", snapshot="a")
        if do == "save node":
            return NodeSaved(snapshot="a")
        raise ENDED


def open_job(number: int) -> AllocationShown:
    return AllocationShown(
        state="running",
        job_id=number,
        node=f"node-{number - 51}",
        partition="p",
        end_time=None,
        seconds_left=None,
    )


def hop(
    monkeypatch: pytest.MonkeyPatch, cluster: Cluster, node: str = "", *, dry_run: bool = False
) -> None:
    @contextmanager
    def reached(*_: object) -> Iterator[Cluster]:
        yield cluster

    monkeypatch.setattr(flow, "cluster_of", reached)
    caller: Any = SimpleNamespace(settings=lambda: cluster.settings)
    flow.hop(caller, cluster.emit, Hold(node=node, dry_run=dry_run))
