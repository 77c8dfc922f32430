"""A job counts as the profile's own when Slurm says so, or, while it is away, when the store does."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.request import job_name
from scratchflow.dispatch import where
from scratchflow.dispatch.where import is_job_of
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.store.directory import open_place
from scratchflow.store.nodes import NodeRecord, record_node
from scratchflow.testing.slurm import FakeSlurm
from scratchflow.testing.store import make_id
from tests.unit.conftest import Desk

ENVIRONMENT = {"SLURMD_NODENAME": "node-1", "USER": "u", "HOME": "/h"}
RECORD = NodeRecord(node="node-1", snapshot=make_id(), workspace_path="/w", time="t", job_id=7)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm()
    monkeypatch.setattr(where, "this_slurm", lambda _: Slurm(fake, "alice", "login"))
    return fake


def test_only_a_job_of_this_profile_is_its_own(slurm: FakeSlurm, desk: Desk) -> None:
    ours = slurm.add(job_name("test", "abc123"))
    other_profile = slurm.add(job_name("other", "abc123"))
    by_hand = slurm.add("bash")
    strangers = slurm.add(job_name("test", "abc124"), user="bob")
    settings = desk.context.settings
    assert is_job_of(settings, ours, ENVIRONMENT)
    for number in (other_profile, by_hand, strangers, 999, None):
        assert not is_job_of(settings, number, ENVIRONMENT)


def test_on_another_node_of_the_job_the_workspace_is_not_here(slurm: FakeSlurm, desk: Desk) -> None:
    ours = slurm.add(job_name("test", "abc123"), nodes="node-[1-2]")
    there = {**ENVIRONMENT, "SLURMD_NODENAME": "node-2"}
    assert is_job_of(desk.context.settings, ours, ENVIRONMENT)
    assert not is_job_of(desk.context.settings, ours, there)


def test_while_slurm_is_away_the_record_of_this_job_on_this_node_counts(
    slurm: FakeSlurm, desk: Desk
) -> None:
    slurm.up = False
    settings = desk.context.settings
    with pytest.raises(SlurmUnreachable):
        is_job_of(settings, 7, ENVIRONMENT)
    place = open_place(desk.context.store, "work")
    record_node(place, RECORD)
    assert is_job_of(settings, 7, ENVIRONMENT)
    for number, node in ((8, "node-1"), (7, "node-2"), (None, "node-1")):
        with pytest.raises(SlurmUnreachable):
            is_job_of(settings, number, {**ENVIRONMENT, "SLURMD_NODENAME": node})


def test_an_answer_of_slurm_is_not_overruled_by_the_store(slurm: FakeSlurm, desk: Desk) -> None:
    place = open_place(desk.context.store, "work")
    record_node(place, RECORD)
    assert slurm.up
    assert not is_job_of(desk.context.settings, 7, ENVIRONMENT)
