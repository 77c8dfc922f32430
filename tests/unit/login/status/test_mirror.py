"""How far the mirror is behind: how many, since when, why."""

from __future__ import annotations

from scratchflow.cli import status_lines
from scratchflow.login.status.mirror import mirror_behind, mirror_shown
from scratchflow.login.status.store_problems import store_problems
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import (
    MirrorShown,
    SessionShown,
    SnapshotsShown,
    StatusShown,
    WorkspaceShown,
)
from scratchflow.model.times import epoch
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import Verification, read_verified, record_verified
from scratchflow.store.mirror import MirrorState, write_state
from tests.unit.conftest import Desk

HOUR_S = 3600


def shown(desk: Desk) -> MirrorShown:
    found = mirror_shown("box:a", desk.place, read_catalogue(desk.place))
    assert found is not None
    return found


def row(desk: Desk) -> str:
    """As `status` shows it."""
    status = StatusShown(
        profile="test",
        allocation=None,
        alias=None,
        workspace=WorkspaceShown(path="/w", exists=None, base_snapshot=None),
        snapshots=SnapshotsShown(count=0),
        autobackup=AutobackupShown(enabled=False, every_s=1),
        session=SessionShown(name=None, host="h", alive=False),
        problems=[],
        mirror=shown(desk),
    )
    (found,) = [line for line in status_lines.shown(status) if "box:a" in line]
    return found[found.index("box:a") :]


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
    unknown = "nobody has looked yet whether the mirror `box:a` has 1 snapshot of the store"
    assert said == f"{unknown}, the oldest was taken 2 h ago"
    assert row(desk) == "box:a, not looked at yet"
    taken = read_catalogue(desk.place).snapshots[0].time
    write_state(desk.place, MirrorState(mirror="box:a", time=taken))
    assert problems(desk, HOUR_S - 60) == []
    (said,) = problems(desk, 2 * HOUR_S)
    assert said == "1 snapshot is not on the mirror `box:a`, the oldest was taken 2 h ago"
    assert row(desk) == "box:a, 1 snapshot not there yet"


def test_snapshots_that_are_known_to_be_damaged_are_not_among_all_snapshots(desk: Desk) -> None:
    for word in ("first", "second"):
        desk.write("work/README", word)
        desk.backup()
    first, second = desk.ids
    taken = read_catalogue(desk.place).snapshots[0].time
    write_state(desk.place, MirrorState(mirror="box:a", time=taken, there=[first, second]))
    assert row(desk) == "box:a, all snapshots"
    bad = Verification(snapshot=second, time=taken, problem="damaged")
    record_verified(desk.place, [bad])
    assert (shown(desk).missing, shown(desk).damaged) == (0, 1)
    assert row(desk) == "box:a, 1 damaged snapshot left out"
    (said,) = problems(desk, 0)
    assert "has all other snapshots; 1 snapshot is damaged in the store and not sent" in said
    catalogue, known = read_catalogue(desk.place), read_verified(desk.place)
    off = AutobackupShown(enabled=False, every_s=1)
    (problem,) = store_problems(desk.place, [], catalogue, off, known, now_s=0, has_mirror=True)
    assert "snapshots import --from-mirror --all" in (problem.fix or "")
    (problem,) = store_problems(desk.place, [], catalogue, off, known, now_s=0)
    assert "mirror" not in (problem.fix or "")
    write_state(desk.place, MirrorState(mirror="box:a", time=taken))
    assert (shown(desk).missing, shown(desk).damaged) == (1, 1)
    assert row(desk) == "box:a, 1 snapshot not there yet, 1 damaged snapshot left out"


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
    assert said == (
        "the mirror `box:a` has all snapshots; sending failed, first at an unknown time: away"
    )


def test_a_mirror_that_has_all_is_no_problem(desk: Desk) -> None:
    desk.backup()
    write_state(
        desk.place, MirrorState(mirror="box:a", time="2026-11-15T09:30:00Z", there=desk.ids)
    )
    assert (shown(desk).missing, shown(desk).missing_since) == (0, None)
    assert problems(desk, 2 * HOUR_S) == []
