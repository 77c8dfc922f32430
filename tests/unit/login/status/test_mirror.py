"""How far the mirror is behind: how many, since when, why."""

from __future__ import annotations

from scratchflow.login.status.mirror import mirror_behind, mirror_shown
from scratchflow.model.results.status import MirrorShown
from scratchflow.model.times import epoch
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.mirror import MirrorState, write_state
from tests.unit.conftest import Desk

HOUR_S = 3600


def shown(desk: Desk) -> MirrorShown:
    found = mirror_shown("box:a", desk.place, read_catalogue(desk.place))
    assert found is not None
    return found


def problems(desk: Desk, later_s: float) -> list[str]:
    """What is said that long after the first snapshot."""
    taken_s = epoch(read_catalogue(desk.place).snapshots[0].time) or 0
    return [one.detail for one in mirror_behind(shown(desk), taken_s + later_s)]


def test_without_a_mirror_nothing_is_shown(desk: Desk) -> None:
    desk.backup()
    assert mirror_shown("", desk.place, read_catalogue(desk.place)) is None
    assert list(mirror_behind(None, 0)) == []


def test_a_snapshot_may_be_on_its_way_for_an_hour(desk: Desk) -> None:
    desk.backup()
    assert (shown(desk).missing, shown(desk).looked_time) == (1, None)
    assert problems(desk, HOUR_S - 60) == []
    (said,) = problems(desk, 2 * HOUR_S)
    assert said == "1 snapshot is not on the mirror `box:a`, the oldest was taken 2 h ago"


def test_a_failure_is_told_at_once_in_rclones_words(desk: Desk) -> None:
    desk.backup()
    taken = read_catalogue(desk.place).snapshots[0].time
    write_state(
        desk.place,
        MirrorState(mirror="box:a", time=taken, error="disk full", failing_since=taken),
    )
    (said,) = problems(desk, 600)
    assert said.startswith("1 snapshot is not on the mirror `box:a`")
    assert said.endswith("; sending failed, first 10 min ago: disk full")
    write_state(desk.place, MirrorState(mirror="box:a", time=taken, there=desk.ids, error="away"))
    (said,) = problems(desk, 600)
    assert said == "the mirror `box:a`: sending failed, first at an unknown time: away"


def test_a_mirror_that_has_all_is_no_problem(desk: Desk) -> None:
    desk.backup()
    write_state(
        desk.place, MirrorState(mirror="box:a", time="2026-11-15T09:30:00Z", there=desk.ids)
    )
    assert (shown(desk).missing, shown(desk).missing_since) == (0, None)
    assert problems(desk, 2 * HOUR_S) == []
