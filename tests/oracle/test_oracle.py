"""The oracle with a bounded count: nothing is lost, whatever is done. `scripts/test soak` goes on for hours."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.oracle.machine import Oracle, ProgramOracle
from tests.oracle.system_calls import why_not

BOUNDED = settings(
    max_examples=int(os.environ.get("SCRATCHFLOW_ORACLE_EXAMPLES", "8")),
    stateful_step_count=30,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("number", range(4))
def test_nothing_is_lost_whatever_is_done(number: int) -> None:
    run_state_machine_as_test(seed(number)(Oracle), settings=BOUNDED)


@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize("number", range(2))
def test_nothing_is_lost_by_the_real_program_whatever_is_done(number: int) -> None:
    """Each command takes a fifth of a second and more, so there are fewer steps."""
    few = settings(BOUNDED, max_examples=3, stateful_step_count=20)
    run_state_machine_as_test(seed(number)(ProgramOracle), settings=few)
