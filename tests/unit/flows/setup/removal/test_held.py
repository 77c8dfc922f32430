"""A profile that holds a node keeps what it uses, and every such profile is named at once."""

from __future__ import annotations

import pytest

from scratchflow.flows.setup.removal.held import require_released
from scratchflow.flows.setup.removal.in_use import InUse
from scratchflow.model.errors.allocation import AllocationHeld
from scratchflow.model.profile import Profile
from scratchflow.model.results.status import ElsewhereShown

LAB, FAST = Profile(login="aws"), Profile(login="aws")


IN_USE = InUse(
    [
        ElsewhereShown(profile="lab", job_id=7, state="pending", node=None),
        ElsewhereShown(profile="far", job_id=8, state="running", node="n1"),
        ElsewhereShown(profile="fast", job_id=9, state="running", node="n2"),
    ]
)


def test_all_that_would_go_are_named_and_those_of_another_machine_are_not() -> None:
    both = {"lab": LAB, "fast": FAST}
    with pytest.raises(AllocationHeld, match="job 7 still holds `a place in the queue`") as caught:
        require_released("uni", [], IN_USE, both, both)
    first, *more = caught.value.shown_hint.split("; ")
    assert first.startswith("`scratchflow -p lab clear`")
    assert more == [
        "job 9 of profile `fast` holds `n2` too: `scratchflow -p fast clear`",
        "without `--all`, what other profiles use stays",
    ]


def test_what_a_profile_that_stays_holds_refuses_nothing() -> None:
    require_released("uni", [], IN_USE, {"lab": LAB, "fast": FAST}, {})
