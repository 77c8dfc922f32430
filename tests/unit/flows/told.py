"""A cluster that answers what a test wrote down, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller, Cluster
from scratchflow.model.events import Event
from scratchflow.model.requests import Arguments
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import (
    AllocationShown,
    Problem,
    SessionShown,
    SnapshotsShown,
    StatusShown,
    WorkspaceShown,
)

Answer = Any


class ToldCluster(Cluster):
    """`answers` by operation: a result, an error to raise, or a list of them in turn."""

    def __init__(
        self,
        directory: Path,
        answers: Mapping[str, Answer],
        *,
        profile: str = 'login = "aws"',
        environment: Mapping[str, str] | None = None,
    ) -> None:
        config = directory / "config.toml"
        ssh_config = f'ssh_config = "{directory}/ssh/config"'
        config.write_text(f"[profiles.p]\n{ssh_config}\n{profile}\n")
        self.told: list[Event] = []
        self.asked: list[tuple[str, Arguments, int | None]] = []
        self.nodes: list[str] = []
        self._answers = dict(answers)
        caller = Caller(Asked(config=str(config)), environment or {"PATH": "", "HOME": "/h"})
        super().__init__(caller.settings(), caller, self.told.append, ExitStack())

    def on_login(self, do: str, request: Arguments, kind: Any, **_: Any) -> Any:
        return self._answer(do, request, None, kind)

    def at_workspace(self, do: str, request: Arguments, kind: Any, **options: Any) -> Any:
        self.nodes.append(options.get("node", ""))
        return self._answer(do, request, options.get("job_id"), kind)

    @property
    def done(self) -> list[str]:
        return [do for do, _, _ in self.asked]

    def _answer(self, do: str, request: Arguments, job_id: int | None, kind: Any) -> Any:
        self.asked.append((do, request, job_id))
        answer = self._answers[do]
        if isinstance(answer, list):
            answer = answer.pop(0)
        elif callable(answer):
            answer = answer(job_id)
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, kind)
        return answer


def give(monkeypatch: pytest.MonkeyPatch, flow: Any, cluster: ToldCluster) -> ToldCluster:
    """Makes the flow's module reach this cluster."""

    @contextmanager
    def cluster_of(*_: object, **__: object) -> Iterator[ToldCluster]:
        yield cluster

    monkeypatch.setattr(flow, "cluster_of", cluster_of)
    return cluster


def job(number: int, state: Any = "running", **fields: Any) -> AllocationShown:
    node = f"node-{number}" if state == "running" else None
    shown = {"partition": "dev", "end_time": None, "seconds_left": None, "node": node, **fields}
    return AllocationShown(state=state, job_id=number, **shown)


def seen(held: AllocationShown | None = None, *problems: str) -> StatusShown:
    return StatusShown(
        profile="p",
        allocation=held,
        alias=None,
        workspace=WorkspaceShown(path="/scratch/u/work", exists=True, base_snapshot=None),
        snapshots=SnapshotsShown(count=0),
        autobackup=AutobackupShown(enabled=False, every_s=1800),
        session=SessionShown(name=None, host=None, alive=None),
        problems=[Problem(name=name, detail=name, fix="") for name in problems],
    )
