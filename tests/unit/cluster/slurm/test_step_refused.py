"""Only an `srun` that was given no step is one that has begun nothing."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.step_refused import is_refused


def test_the_words_of_srun_while_nodes_register() -> None:
    said = "srun: error: Unable to create step for job 12: Required node not available (down, drained or reserved)\n"
    assert is_refused(said)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "srun: error: node-1: task 0: Killed\n",
        "srun: error: Unable to confirm allocation for job 12: Invalid job id specified\n",
        "srun: error: task 0 launch failed: Communication connection failure\n",
    ],
)
def test_an_srun_that_may_have_begun_is_not_asked_again(said: str) -> None:
    assert not is_refused(said)
