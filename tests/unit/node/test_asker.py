"""Who names a snapshot: by the node's clock, in their own zone, and told once what was found."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec

from scratchflow.model.events import Log
from scratchflow.node.asker import asker
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.names import find_snapshot
from tests.unit.conftest import Desk

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=timezone.utc)


def test_the_clock_is_the_nodes_and_the_zone_the_askers(desk: Desk) -> None:
    context = msgspec.structs.replace(desk.context, now=lambda: NOON)
    who = asker(context, desk.notify, ((0, 7200),))
    assert who.now_s == NOON.timestamp()
    assert who.zone.local(who.now_s) == datetime(2026, 11, 15, 14, 0)


def test_a_command_that_looks_twice_says_once_what_it_found(desk: Desk) -> None:
    desk.backup(message="before the talk")
    desk.events.clear()
    who = asker(desk.context, desk.notify, ())
    catalogue = read_catalogue(desk.place)
    for _ in range(2):
        assert find_snapshot(catalogue, "today", who).id == desk.ids[0]
    (remark,) = [event.message for event in desk.events if isinstance(event, Log)]
    assert "before the talk" in remark


def test_two_findings_are_both_told_and_cannot_steer_the_terminal(desk: Desk) -> None:
    who = asker(desk.context, desk.notify, ())
    for text in ("one", "two\x1b[2J", "one"):
        who.tell(text)
    first, second = [event.message for event in desk.events if isinstance(event, Log)]
    assert first == "one"
    assert second.startswith("two")
    assert "\x1b" not in second
