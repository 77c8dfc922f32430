"""What the store notes of its mirror."""

from __future__ import annotations

import msgspec

from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.mirror import (
    MirrorState,
    has_unsent,
    mirror_place,
    not_there,
    read_state,
    write_state,
)
from tests.unit.conftest import Desk


def test_what_was_noted_of_another_mirror_is_not_known_of_this_one(desk: Desk) -> None:
    desk.backup()
    assert read_state(desk.place, "box:a") == MirrorState(mirror="box:a")
    noted = MirrorState(mirror="box:a", there=desk.ids, error="away")
    write_state(desk.place, noted)
    assert read_state(desk.place, "box:a") == noted
    assert read_state(desk.place, "box:b") == MirrorState(mirror="box:b")


def test_a_note_that_cannot_be_read_is_none(desk: Desk) -> None:
    desk.backup()
    write_state(desk.place, MirrorState(mirror="box:a", error="away"))
    (mirror_place(desk.place).directory / "state.json").write_bytes(b"{")
    assert read_state(desk.place, "box:a").error == ""


def test_what_is_damaged_here_is_not_expected_there(desk: Desk) -> None:
    desk.backup()
    desk.write("work/README", "second")
    desk.backup()
    first, second = desk.ids
    state = MirrorState(mirror="box:a")
    assert [one.id for one in not_there(state, read_catalogue(desk.place))] == [first, second]
    state = msgspec.structs.replace(state, there=[first])
    assert [one.id for one in not_there(state, read_catalogue(desk.place))] == [second]
    desk.place.archive(second).write_bytes(b"")
    assert not_there(state, read_catalogue(desk.place)) == []


def test_a_new_name_in_the_store_is_noticed_and_nothing_else(desk: Desk) -> None:
    desk.backup()
    state = MirrorState(mirror="box:a", there=desk.ids)
    assert not has_unsent(desk.place, state)  # `store.json` and the like are no snapshots
    desk.write("work/README", "second")
    desk.backup()
    assert has_unsent(desk.place, state)
