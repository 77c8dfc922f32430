"""A reason is believed when it has stood for a while, later if another one contradicted it."""

from __future__ import annotations

from scratchflow.cluster.slurm.doubt import STANDS_AFTER_ANOTHER_S, STANDS_S, Doubt


def test_a_reason_that_stands_is_believed_after_a_moment() -> None:
    doubt = Doubt()
    assert not doubt.believes("PartitionConfig", 100)
    assert not doubt.believes("PartitionConfig", 100 + STANDS_S / 2)
    assert doubt.believes("PartitionConfig", 100 + STANDS_S)


def test_that_slurm_has_not_looked_yet_contradicts_nothing() -> None:
    doubt = Doubt()
    assert not doubt.believes("None", 0)
    assert not doubt.believes("PartitionConfig", 10)
    assert doubt.believes("PartitionConfig", 10 + STANDS_S)


def test_a_job_that_waited_for_something_that_clears_is_given_longer() -> None:
    doubt = Doubt()
    doubt.believes("Resources", 0)
    assert not doubt.believes("InvalidAccount", 10)
    assert not doubt.believes("InvalidAccount", 10 + STANDS_S)
    assert doubt.believes("InvalidAccount", 10 + STANDS_AFTER_ANOTHER_S)


def test_each_change_begins_anew() -> None:
    doubt = Doubt()
    doubt.believes("JobHeldAdmin", 0)
    doubt.believes("JobHeldUser", STANDS_S)
    assert not doubt.believes("JobHeldAdmin", 2 * STANDS_S)
