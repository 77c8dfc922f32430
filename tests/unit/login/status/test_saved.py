"""When the workspace was last saved: an unchanged one is, though no new snapshot says so."""

from __future__ import annotations

import msgspec

from scratchflow.login.status.saved import saved_shown
from scratchflow.model.allocation import Allocation, ThisMachine
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import SavedShown, SnapshotsShown
from scratchflow.model.times import iso_time
from scratchflow.store.nodes import NodeRecord
from scratchflow.testing.store import make_id
from tests.unit.login.status.test_status import JOB, Login

NOW_S = 1_800_000_000.0
HOUR_S = 3600
OFF = AutobackupShown(enabled=False, every_s=1800)


def ago(seconds: float) -> str:
    return iso_time(NOW_S - seconds) or ""


def record(seconds_ago: float, *, restoring: str = "", dirty: bool | None = False) -> NodeRecord:
    return NodeRecord(
        node="node-1",
        snapshot=make_id(),
        workspace_path="/scratch/u/work",
        job_id=7,
        time=ago(seconds_ago),
        restoring=restoring,
        dirty=dirty,
    )


def on(**fields: object) -> AutobackupShown:
    return msgspec.structs.replace(OFF, enabled=True, **fields)


def saved(
    autobackup: AutobackupShown = OFF,
    noted: NodeRecord | None = None,
    held: Allocation | None = JOB,
) -> SavedShown:
    """What is shown of a workspace whose last snapshot is nine hours old."""
    snapshots = SnapshotsShown(count=1, last_time=ago(9 * HOUR_S))
    found = saved_shown(snapshots, autobackup, noted, held, NOW_S)
    assert found is not None
    return found


def test_an_unchanged_workspace_is_saved_with_every_round_of_the_auto_backup() -> None:
    found = saved(on(last_time=ago(600)))
    assert (found.age_s, found.late, found.time) == (600, False, ago(600))


def test_a_backup_by_hand_that_found_nothing_new_counts() -> None:
    assert saved(noted=record(600)) == SavedShown(time=ago(600), age_s=600)
    assert saved(noted=record(2 * HOUR_S)).late


def test_a_copy_that_is_half_restored_is_not_saved_by_that() -> None:
    assert saved(noted=record(600, restoring=make_id(), dirty=None)).age_s == 9 * HOUR_S


def test_an_auto_backup_that_fails_or_is_silent_is_late_at_once() -> None:
    assert saved(on(last_time=ago(60), last_error="the store is full")).late
    assert saved(on(last_time=ago(60), overdue=True)).late


def test_an_auto_backup_that_beats_and_saves_nothing_is_late() -> None:
    assert saved(on(last_time=ago(2 * HOUR_S))).late


def test_without_a_workspace_on_a_node_there_is_nothing_to_lose() -> None:
    assert not saved(held=None).late


def test_on_a_machine_of_ones_own_only_a_failing_auto_backup_is_late() -> None:
    here = ThisMachine(name="", nodes=("here",))
    assert not saved(held=here).late
    assert saved(on(last_error="the store is full"), held=here).late


def test_without_any_backup_nothing_is_shown() -> None:
    assert saved_shown(SnapshotsShown(count=0), OFF, None, JOB, NOW_S) is None


def test_status_shows_it_by_what_the_store_has_of_the_node(held: Login) -> None:
    held.beat(workspace_exists=True, last_error="the store is full")
    seen = held.look().saved
    assert seen is not None
    assert seen.late
    held.beat(workspace_exists=True)
    seen = held.look().saved
    assert seen is not None
    assert not seen.late
