"""What is kept as the failure of one profile, and what ends the whole sync."""

from __future__ import annotations

import pytest

from scratchflow.flows.sync.failures import Failures, all_away
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.config import ConfigNoProfile
from scratchflow.model.errors.ssh import AuthNeeded, ConnectionLost
from scratchflow.model.errors.sync import SyncBusy, SyncManyDeletions, UnisonFailed
from scratchflow.model.events import Event

LOST = ConnectionLost(host="a", reason="cut")
AUTH = AuthNeeded(host="a", reason="x", command="ssh a")


def _failures(events: list[Event] | None = None, *, only_one: bool = False) -> Failures:
    emit = (events if events is not None else []).append
    return Failures(
        lambda name: f"then `scratchflow sync {name}` syncs it", emit, only_one=only_one
    )


def _kept(failures: Failures) -> list[str]:
    return [one.profile for one in failures.shown()]


@pytest.mark.parametrize("error", [LOST, AUTH, SyncBusy(profile="aws")])
def test_one_that_cannot_be_reached_is_kept(error: ScratchflowError) -> None:
    failures = _failures()
    with failures.reaching("aws", "a"):
        raise error
    assert _kept(failures) == ["aws"]


@pytest.mark.parametrize(
    "error", [EndedBySignal(2), ConfigNoProfile(name="aws", suggestion="", known="uni")]
)
def test_ctrl_c_and_a_mistake_in_the_configuration_end_the_sync(error: ScratchflowError) -> None:
    with pytest.raises(type(error)), _failures().reaching("aws", "a"):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        SyncManyDeletions(profile="aws", files=1, total=1),
        UnisonFailed(first="uni", other="aws", words="x"),
    ],
)
def test_what_needs_a_decision_ends_the_sync(error: ScratchflowError) -> None:
    with pytest.raises(type(error)), _failures().syncing("aws", "a", lambda _: False):
        raise error


def test_without_the_first_nothing_goes_on() -> None:
    failures = _failures()
    with failures.syncing("aws", "a", lambda _: False):
        raise LOST
    with pytest.raises(ConnectionLost), failures.syncing("mila", "m", lambda _: True):
        raise LOST
    assert _kept(failures) == ["aws"]


def test_the_only_one_is_not_kept_but_raised() -> None:
    events: list[Event] = []
    with pytest.raises(ConnectionLost), _failures(events, only_one=True).reaching("aws", "a"):
        raise LOST
    assert events == []


def test_the_first_failure_is_raised_when_nobody_is_left() -> None:
    failures = _failures()
    failures.require(some_are_left=False)
    for name, error in (("aws", AUTH), ("mila", LOST)):
        with failures.reaching(name, name):
            raise error
    failures.require(some_are_left=True)
    with pytest.raises(AuthNeeded):
        failures.require(some_are_left=False)


def test_only_what_passes_by_itself_is_tried_again() -> None:
    failures = _failures()
    with failures.reaching("aws", "a"):
        raise LOST
    assert all_away(failures.shown())
    with failures.reaching("mila", "m"):
        raise AUTH
    assert not all_away(failures.shown())
