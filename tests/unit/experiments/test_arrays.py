"""Tasks are split into as few arrays as the cluster allows, and none is lost or run twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.experiments.arrays import ArrayPart, array_parts


def test_an_array_is_as_large_as_the_cluster_allows() -> None:
    assert array_parts(1001, 1001) == [ArrayPart(0, 1001)]
    assert array_parts(1002, 1001) == [ArrayPart(0, 1001), ArrayPart(1001, 1)]


def test_indexes_are_what_sbatch_takes() -> None:
    assert ArrayPart(1001, 200).indexes() == "0-199"
    assert ArrayPart(0, 1).indexes(4) == "0-0%4"


def test_a_cluster_without_arrays_gets_single_tasks() -> None:
    assert len(array_parts(3, 0)) == 3


@pytest.mark.slow
@given(st.integers(0, 5000), st.integers(0, 300))
def test_every_task_is_in_one_array_and_fits_there(tasks: int, largest: int) -> None:
    parts = array_parts(tasks, largest)
    assert [part.first + index for part in parts for index in range(part.count)] == list(
        range(tasks)
    )
    assert all(part.count <= max(1, largest) for part in parts)
