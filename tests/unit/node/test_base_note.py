"""What the workspace equals is noted here and in the store; trouble with a note is a warning."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.node.base_note import note_equal, note_half_restored, note_taken_up
from scratchflow.node.context import NodeContext
from scratchflow.store.directory import open_place
from scratchflow.store.nodes import NodeRecord, read_nodes
from scratchflow.workspace.notes import noted_base
from tests.unit.conftest import Desk


def _as_job(desk: Desk, job_id: int | None) -> NodeContext:
    return msgspec.structs.replace(desk.context, node="n1", job_id=job_id)


def _record(desk: Desk) -> NodeRecord:
    (record,) = [one for one in read_nodes(desk.place) if one.node == "n1"]
    return record


@pytest.fixture
def taken(desk: Desk) -> str:
    taken = desk.backup().snapshot
    assert taken
    return taken


def test_both_notes_name_the_snapshot_and_the_store(desk: Desk, taken: str) -> None:
    place = open_place(desk.context.store, "work")
    desk.notify.unreadable.append(b"ignored: another teller")
    notify = desk.notify
    notify.unreadable += [b"work/closed", b"work/closed", b"work/caf\xe9"]
    note_equal(_as_job(desk, 7), place, taken, None, notify)
    note = noted_base(desk.context.workspace)
    assert note
    assert (note.snapshot, note.store) == (taken, str(desk.context.store))
    assert note.store_id
    record = _record(desk)
    assert (record.snapshot, record.job_id, record.dirty) == (taken, 7, False)
    assert (record.unsaved, len(record.unsaved_paths)) == (2, 2)


def test_a_look_leaves_the_copy_to_the_job_it_was_of(desk: Desk, taken: str) -> None:
    place = open_place(desk.context.store, "work")
    note_equal(_as_job(desk, 7), place, taken, None, desk.notify)
    note_equal(_as_job(desk, 8), place, taken, None, desk.notify, is_own=False)
    assert _record(desk).job_id == 7
    note_equal(_as_job(desk, 8), place, taken, None, desk.notify)
    assert _record(desk).job_id == 8


def test_a_copy_that_is_taken_up_becomes_this_jobs_and_keeps_the_rest(
    desk: Desk, taken: str
) -> None:
    place = open_place(desk.context.store, "work")
    note_taken_up(_as_job(desk, 9), place, desk.notify)  # of a node without a record
    assert not [one for one in read_nodes(place) if one.node == "n1"]
    note_equal(_as_job(desk, 7), place, taken, None, desk.notify)
    before = _record(desk)
    note_taken_up(_as_job(desk, 9), place, desk.notify)
    assert _record(desk) == msgspec.structs.replace(before, job_id=9)


def test_a_node_without_a_usable_name_is_not_recorded(desk: Desk, taken: str) -> None:
    place = open_place(desk.context.store, "work")
    before = read_nodes(place)
    context = msgspec.structs.replace(desk.context, node="../evil")
    note_equal(context, place, taken, None, desk.notify)
    assert read_nodes(place) == before
    assert desk.warnings == []


def test_notes_that_cannot_be_written_are_warnings(desk: Desk, taken: str) -> None:
    place = open_place(desk.context.store, "work")
    base = desk.context.workspace.state / "base.json"
    base.unlink()
    (base / "in the way").mkdir(parents=True)
    nodes = place.directory / "nodes"
    nodes.rename(place.directory / "elsewhere")
    nodes.write_text("in the way")
    note_equal(_as_job(desk, 7), place, taken, None, desk.notify)
    assert desk.warnings == ["notes.failed", "notes.failed"]


def test_a_half_restored_copy_is_told_until_it_equals_a_snapshot_again(
    desk: Desk, taken: str
) -> None:
    place = open_place(desk.context.store, "work")
    context = _as_job(desk, 7)
    note_half_restored(context, "")  # of a node without a record: nothing to say
    assert not [one for one in read_nodes(place) if one.node == "n1"]
    note_half_restored(context, taken)  # the first restore on that node
    assert (_record(desk).restoring, _record(desk).dirty) == (taken, None)
    note_half_restored(context, "")
    assert _record(desk).restoring == ""
    note_half_restored(context, taken)
    note_equal(context, place, taken, None, desk.notify)
    assert (_record(desk).restoring, _record(desk).dirty) == ("", False)
    note_half_restored(_as_job(desk, 8), taken)  # a later job restores over the copy of the first
    assert (_record(desk).job_id, _record(desk).restored_by) == (7, 8)
    note_half_restored(_as_job(desk, 8), "")
    assert (_record(desk).job_id, _record(desk).restored_by) == (7, 7)


def test_in_a_store_that_is_away_nothing_is_noted(desk: Desk, taken: str) -> None:
    away = msgspec.structs.replace(_as_job(desk, 7), store=desk.context.store / "not-mounted")
    note_half_restored(away, taken)
    assert not away.store.exists()
