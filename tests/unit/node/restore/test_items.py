"""The paths that `restore --verbose` tells: files and links, all of them once, whatever their names."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.tree.index import Index
from scratchflow.model.events import Event, Item
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.items import tell_part
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreOptions
from tests.unit.conftest import Desk

ODD = os.fsdecode(b"odd-\xff")


@pytest.fixture
def index(desk: Desk) -> Index:
    (desk.work / "link").symlink_to("README")
    (desk.work / "empty").mkdir()
    (desk.work / ODD).touch()
    (desk.work / "same").hardlink_to(desk.work / "README")
    desk.backup()
    return open_index(desk.place.archive(desk.ids[0]))


def told(index: Index, *patterns: str, **options: bool) -> list[tuple[str, str]]:
    events: list[Event] = []
    select = Selection(index, patterns) if patterns else None
    tell_part(Notifier(events.append, wants_items=True), index, select, **options)
    return items(events)


def items(events: list[Event]) -> list[tuple[str, str]]:
    found = [event for event in events if isinstance(event, Item) and event.action != "stored"]
    return sorted((event.action, event.path or "(odd)") for event in found)


def test_every_file_and_link_is_told_once_and_no_directory(index: Index) -> None:
    names = ["(odd)", *(f"work/{name}" for name in ("README", "data/big.bin", "link", "same"))]
    assert told(index) == [("written", name) for name in [*names, "work/src/main.py"]]


def test_of_a_part_only_the_part_is_told(index: Index) -> None:
    assert told(index, "work/src", "work/empty") == [("written", "work/src/main.py")]


def test_what_is_only_foretold_is_said_so(index: Index) -> None:
    assert told(index, "work/link", dry_run=True) == [("to write", "work/link")]


def test_who_did_not_ask_is_told_nothing(index: Index) -> None:
    events: list[Event] = []
    tell_part(Notifier(events.append), index, None)
    assert events == []


def test_a_restore_tells_what_differs_also_when_only_a_mode_does(desk: Desk, index: Index) -> None:
    assert len(index)
    (desk.work / "README").write_text("changed")
    (desk.work / "src/main.py").chmod(0o700)
    desk.write("work/more/new")
    desk.events.clear()
    notify = Notifier(desk.events.append, wants_items=True)
    restore(desk.context, notify, RestoreOptions(desk.ids[0]))
    assert ("removed", "work/more/new") in items(desk.events)
    written = {path for action, path in items(desk.events) if action == "written"}
    assert {"work/README", "work/src/main.py"} <= written
    assert "work/data/big.bin" not in written
    assert "work/link" not in written
