"""A refusal of Slurm's, with what was too much in it."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.config.settings import Asked, load_settings
from scratchflow.login import host
from scratchflow.login.host import LoginHost
from scratchflow.login.refusal import cannot_be_met, explained, foreseen
from scratchflow.model.errors.allocation import AllocationRefused
from scratchflow.testing.slurm import FakeSlurm


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm()
    monkeypatch.setattr(host, "this_slurm", lambda _: Slurm(fake, "alice", "login"))
    return fake


def asking(**options: object) -> LoginHost:
    settings = load_settings(Asked(), {})
    slurm = msgspec.structs.replace(settings.profile.slurm, **{"time": "5:00", **options})
    profile = msgspec.structs.replace(settings.profile, slurm=slurm)
    return LoginHost(msgspec.structs.replace(settings, profile=profile), {}, lambda _: None)


def refused(reason: str) -> AllocationRefused:
    return AllocationRefused.of_profile(reason=reason, profile="local")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("it asks for more than the partition allows or has (PartitionConfig)", "PartitionConfig"),
        (
            "Requested node configuration is not available",
            "Requested node configuration is not available",
        ),
    ],
)
@pytest.mark.usefixtures("slurm")
def test_the_limit_comes_first_and_slurms_word_last(reason: str, said: str) -> None:
    told = explained(asking(gpus=8), "", {"slurm.gpus": "--gpus 8"}, refused(reason))
    more = "`--gpus 8` is more than the 2 GPUs that a node of partition `debug` has"
    assert str(told) == f"Slurm refused the request: {more} ({said})"
    assert told.shown_hint.startswith("change `--gpus 8`; ")


@pytest.mark.usefixtures("slurm")
def test_a_node_of_another_partition_is_what_is_to_be_changed() -> None:
    reason = "no node can meet its constraints (BadConstraints)"
    told = explained(asking(partition="gpu"), "node-1", {"node": "--node 1"}, refused(reason))
    why = "`--node 1` is not in partition `gpu`: `node-1` is in `debug`"
    assert str(told) == f"Slurm refused the request: {why} (BadConstraints)"
    assert told.shown_hint.startswith("change `--node 1`; ")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("no node can meet its constraints (BadConstraints)", "BadConstraints"),
        (
            "Requested node configuration is not available",
            "Requested node configuration is not available",
        ),
    ],
)
@pytest.mark.usefixtures("slurm")
def test_hop_from_the_last_node_of_a_partition_names_another_partition(
    reason: str, said: str
) -> None:
    left = ("node-2", "node-3")
    told = explained(asking(partition="gpu"), "", {}, refused(reason), left)
    why = "partition `gpu` has no other node than `node-2`, `node-3`"
    assert str(told) == f"Slurm refused the request: {why} ({said})"
    there = "`scratchflow hop --partition debug` asks for a node of partition `debug`; "
    assert told.shown_hint.startswith(there)


def test_what_would_be_refused_is_foreseen_where_partitions_and_nodes_tell(
    slurm: FakeSlurm,
) -> None:
    assert foreseen(asking(partition="gpu"), "", {}, ("node-2", "node-3")) == (
        "Slurm will probably refuse this: partition `gpu` has no other node than `node-2`, `node-3`;"
        " `scratchflow hop --partition debug` asks for a node of partition `debug`"
    )
    assert "`--gpus 8` is more than" in foreseen(asking(gpus=8), "", {"slurm.gpus": "--gpus 8"})
    assert foreseen(asking(gpus=1), "", {}) == ""
    assert foreseen(asking(partition="debu"), "", {}) == (
        "Slurm will probably refuse this: it has no partition `debu`; did you mean `debug`?"
    )
    slurm.up = False
    assert foreseen(asking(gpus=8), "", {}) == ""


@pytest.mark.usefixtures("slurm")
def test_a_refusal_that_nobody_can_explain_stays_as_it_is() -> None:
    told = explained(asking(), "", {}, refused("the account is not valid (InvalidAccount)"))
    assert str(told).endswith("refused the request: the account is not valid (InvalidAccount)")
    assert told.shown_hint.startswith("change the request under `[profiles.local.slurm]`; ")


def test_without_an_answer_of_slurm_nothing_is_guessed(slurm: FakeSlurm) -> None:
    assert cannot_be_met(asking(gpus=8))
    assert not cannot_be_met(asking(gpus=1))
    slurm.up = False
    assert not cannot_be_met(asking(gpus=8))
    assert str(explained(asking(gpus=8), "", {}, refused("no"))).endswith("request: no")
