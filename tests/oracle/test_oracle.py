"""The oracle with a bounded count: nothing is lost, whatever is done. `scripts/test soak` goes on for hours."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.oracle.commands import why_no_program
from tests.oracle.killing import in_a_child
from tests.oracle.machine import Oracle, ProgramOracle
from tests.oracle.mounting import enter_namespace, why_no_mounts

BOUNDED = settings(
    max_examples=int(os.environ.get("SCRATCHFLOW_ORACLE_EXAMPLES", "5")),
    stateful_step_count=30,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("number", range(4))
def test_nothing_is_lost_whatever_is_done(number: int) -> None:
    run_state_machine_as_test(seed(number)(Oracle), settings=BOUNDED)


@pytest.mark.skipif(bool(why_no_program()), reason=why_no_program())
@pytest.mark.parametrize("number", range(2))
def test_nothing_is_lost_by_the_real_program_whatever_is_done(number: int) -> None:
    """Each command takes a fifth of a second and more, so there are fewer steps."""
    few = settings(BOUNDED, max_examples=3, stateful_step_count=20)
    run_state_machine_as_test(seed(number)(ProgramOracle), settings=few)


@pytest.mark.skipif(bool(why_no_mounts()), reason=why_no_mounts())
def test_nothing_that_is_mounted_into_the_workspace_is_touched() -> None:
    """In a process of its own: one that has threads cannot enter a namespace."""

    def run() -> None:
        enter_namespace()
        few = settings(BOUNDED, max_examples=4)
        run_state_machine_as_test(seed(0)(Oracle), settings=few)

    assert in_a_child(run)() == "done"
