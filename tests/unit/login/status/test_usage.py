"""`status --usage`: asked only when wanted, each node for itself, and a scratch with little room is a problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from scratchflow.login.host import LoginHost
from scratchflow.login.status import status as looking
from scratchflow.login.status import usage as module
from scratchflow.login.status.usage import (
    NEARLY_FULL_PERCENT,
    ROOM_ENOUGH_BYTES,
    UsageLooks,
    scratch_nearly_full,
    usage_of,
    with_warning,
)
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.requests import ShowStatus
from scratchflow.model.results.usage import DiskUse, NodeUsage, UsageRead
from scratchflow.reach import node_question
from tests.unit.conftest import Desk
from tests.unit.login.test_copies import Here

GIB = 1024**3
HELD = RunningAllocation(job_id=7, name="job", state="running", nodes=("node-1", "node-2"))


def disk(percent: int, free_bytes: int = GIB, files_percent: int | None = None) -> DiskUse:
    return DiskUse(
        path="/scratch/u",
        used_bytes=GIB,
        free_bytes=free_bytes,
        total_bytes=10 * GIB,
        percent=percent,
        files_percent=files_percent,
    )


def slurm_login(desk: Desk) -> LoginHost:
    settings = desk.context.settings
    profile = msgspec.structs.replace(settings.profile, scheduler="slurm", login="local")
    settings = msgspec.structs.replace(settings, profile=profile)
    environment = {"HOME": str(desk.scratch.parent), "PATH": "", "USER": "u"}
    return LoginHost(settings, environment, lambda _: None)


@pytest.mark.slow
def test_each_node_has_its_own_and_a_silent_one_is_unknown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, Any] = {"node-1": UsageRead(scratch=disk(20)), "node-2": None}
    monkeypatch.setattr(
        node_question, "node_transport", lambda held, *_: Here(held, answers[held.node])
    )
    login = slurm_login(desk)
    seen = usage_of(login.settings, HELD, login.environment, within_s=3)
    assert seen == [
        NodeUsage(node="node-1", scratch=disk(20)),
        NodeUsage(node="node-2", unknown="it took longer than 3 s"),
    ]


def test_who_looks_again_and_again_has_the_nodes_asked_now_and_then(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sequence[str]] = []

    def count(_: object, held: RunningAllocation, __: object) -> list[NodeUsage]:
        asked.append(held.nodes)
        return [NodeUsage(node=node) for node in held.nodes]

    monkeypatch.setattr(module, "usage_of", count)
    login, looks = slurm_login(desk), UsageLooks()
    for _ in range(2):
        assert len(looks.look(login, HELD)) == 2
    assert len(looks.look(login, HELD.on("node-1"))) == 1
    assert asked == [("node-1", "node-2"), ("node-1",)]
    waiting = msgspec.structs.replace(HELD, state="pending")
    assert looks.look(login, waiting) == looks.look(login, None) == []


def test_plain_status_asks_no_node(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> list[NodeUsage]:
        raise AssertionError("asked")

    monkeypatch.setattr(module, "usage_of", never)
    monkeypatch.setattr(looking, "jobs_seen", lambda _: ([HELD.on("node-1")], []))
    assert looking.look(slurm_login(desk)).usage == []


def test_a_full_scratch_is_a_problem_of_status(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    full = NodeUsage(node="node-1", scratch=disk(95))
    monkeypatch.setattr(module, "usage_of", lambda *_: [full])
    monkeypatch.setattr(looking, "jobs_seen", lambda _: ([HELD.on("node-1")], []))
    seen = looking.look(slurm_login(desk), ShowStatus(usage=True))
    (problem,) = [one for one in seen.problems if one.name == "scratch.nearly_full"]
    assert problem.detail == (
        "`/scratch/u` on `node-1` is 95 % full: 1.00 GiB of 10.0 GiB are free"
    )
    assert "`scratchflow hop`" in problem.fix
    assert [one.warning for one in seen.usage] == [problem.detail]


@pytest.mark.parametrize(
    ("scratch", "is_wrong"),
    [
        (disk(NEARLY_FULL_PERCENT - 1), False),
        (disk(NEARLY_FULL_PERCENT), True),
        (disk(NEARLY_FULL_PERCENT, ROOM_ENOUGH_BYTES), False),
        (disk(10, files_percent=NEARLY_FULL_PERCENT), True),
        (disk(10, files_percent=None), False),
        (None, False),
    ],
)
def test_little_room_is_a_share_and_an_amount(scratch: DiskUse | None, is_wrong: bool) -> None:
    usage = with_warning(NodeUsage(node="node-1", scratch=scratch))
    assert len(list(scratch_nearly_full([usage]))) == is_wrong
    assert bool(usage.warning) == is_wrong


@pytest.mark.slow
def test_without_a_scheduler_it_is_this_machine(desk: Desk) -> None:
    environment = {"HOME": str(desk.scratch.parent), "PATH": "", "USER": "u"}
    login = LoginHost(desk.context.settings, environment, lambda _: None)
    (seen,) = UsageLooks().look(login, None)
    assert seen.unknown == ""
    assert seen.scratch is not None
