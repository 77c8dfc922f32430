"""The name of a submitted job is found again, and is never taken for the job that holds a node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from scratchflow.cluster.slurm.batch.names import (
    batch_name,
    fitting_name,
    job_of_name,
    means_another,
)
from scratchflow.cluster.slurm.request import job_name, profile_of

JOB = "20261115T093000Z-3f2a9c"


@pytest.mark.slow
@given(some.text())
def test_any_word_becomes_a_name_that_leads_back_to_the_job(text: str) -> None:
    name = batch_name(fitting_name(text), JOB)
    assert job_of_name(name) == JOB
    assert profile_of(name) is None


def test_the_job_that_holds_a_node_is_no_submitted_one() -> None:
    assert job_of_name(job_name("aws", "abc123")) is None
    assert job_of_name("train") is None


@pytest.mark.parametrize("name", ["", "a:b", "a b", "x" * 65])
def test_a_name_that_could_be_misread_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a job"):
        batch_name(name, JOB)


@pytest.mark.parametrize("name", ["6", "0012", "6_1", "last", "last_3", "-6-", JOB])
def test_numbers_ids_and_last_are_no_names(name: str) -> None:
    assert means_another(name)


@pytest.mark.parametrize("name", ["", "6a", "6_a", "6_1_2", "last-run", "train_1", "Last"])
def test_other_words_are_names(name: str) -> None:
    assert not means_another(name)
