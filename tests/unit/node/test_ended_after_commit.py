"""A backup that is ended right after its commit: the workspace continues that snapshot all the same."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.node.base_note import note_what_was_saved
from scratchflow.node.history.history import list_snapshots
from scratchflow.node.snapshot import take
from scratchflow.process.interrupted import Interrupted
from scratchflow.store.nodes import read_nodes, record_node
from scratchflow.workspace.notes import noted_base, read_base
from tests.unit.conftest import Desk
from tests.unit.login.status.test_status import Login


def _base(desk: Desk) -> str | None:
    return read_base(desk.context.workspace, desk.context.store)


def _ended(desk: Desk, monkeypatch: pytest.MonkeyPatch, at: str) -> str:
    """The id of a snapshot that was committed, if it was, by a backup that a signal ended there."""

    def end(*_: object, **__: object) -> None:
        raise Interrupted(15)

    with monkeypatch.context() as patched:
        patched.setattr(take, at, end)
        with pytest.raises(Interrupted):
            desk.backup()
    return desk.ids[-1]


@pytest.fixture
def changed(desk: Desk) -> Desk:
    desk.backup()
    desk.write("work/README", "changed")
    return desk


def test_the_next_command_notes_what_was_saved(
    changed: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = changed.ids
    second = _ended(changed, monkeypatch, "note_equal")
    assert (len(changed.ids), _base(changed)) == (2, first)
    note_what_was_saved(changed.context, changed.notify)
    assert _base(changed) == second
    note = noted_base(changed.context.workspace)
    assert note is not None
    assert note.saving == ""
    assert changed.backup().kind == "unchanged"


def test_the_next_backup_continues_it(changed: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    second = _ended(changed, monkeypatch, "note_equal")
    changed.write("work/README", "changed once more")
    assert changed.backup().parent == second
    rows = list_snapshots(changed.context, changed.notify).snapshots
    assert not any(one.fork for one in rows)


def test_ended_before_the_commit_nothing_is_noted(
    changed: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = changed.ids
    _ended(changed, monkeypatch, "_commit")
    note_what_was_saved(changed.context, changed.notify)
    assert (changed.ids, _base(changed)) == ([first], first)
    assert changed.backup().parent == first


def test_what_was_restored_since_is_what_the_workspace_came_from(
    changed: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = changed.ids
    _ended(changed, monkeypatch, "note_equal")
    back = changed.restore(first).committed_as
    note_what_was_saved(changed.context, changed.notify)
    assert _base(changed) == back


def test_a_later_job_that_looks_at_the_copy_does_not_make_it_its_own(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Desk(msgspec.structs.replace(desk.context, node="node-1", job_id=7))
    there.backup()
    there.write("work/README", "changed")
    second = _ended(there, monkeypatch, "note_equal")
    later = msgspec.structs.replace(there.context, job_id=9)
    note_what_was_saved(later, there.notify)
    (record,) = read_nodes(there.place)
    assert (record.snapshot, record.job_id) == (second, 7)


def test_status_does_not_say_that_it_went_another_way(
    changed: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = Login(changed, monkeypatch)
    second = _ended(changed, monkeypatch, "note_equal")
    seen = login.look()
    assert seen.workspace.base_snapshot == second
    assert "workspace.behind" not in [one.name for one in seen.problems]


def test_status_of_a_node_goes_by_what_that_node_took_last(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Desk(msgspec.structs.replace(desk.context, node="node-1", job_id=7))
    first = there.backup().snapshot
    (record,) = read_nodes(there.place)
    record_node(there.place, msgspec.structs.replace(record, time="2026-11-15T00:00:00Z"))
    there.write("work/README", "changed")
    second = _ended(there, monkeypatch, "note_equal")
    login = Login(there, monkeypatch)
    login.hold()
    assert login.look().workspace.base_snapshot == second
    # Somebody went back to the first one since.
    record_node(there.place, msgspec.structs.replace(record, time="2099-11-15T00:00:00Z"))
    assert login.look().workspace.base_snapshot == first
