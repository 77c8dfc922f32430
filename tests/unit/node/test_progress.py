"""What the engine says becomes events: foreign names unharmed, and what was not saved remembered."""

from __future__ import annotations

import base64

from scratchflow.model.events import Event, Item, Log, Progress, Warned
from scratchflow.node.progress import Notifier


def _heard() -> tuple[list[Event], Notifier]:
    events: list[Event] = []
    return events, Notifier(events.append)


def test_warnings_are_counted_and_only_unreadable_paths_are_remembered() -> None:
    events, notify = _heard()
    notify.warn("files.unreadable", b"work/closed/", "cannot be read")
    notify.warn("files.changed", b"work/busy", "changed while it was read")
    notify.warn("notes.failed", b"", "no path at all")
    assert notify.warnings == 3
    assert notify.unreadable == [b"work/closed/"]
    assert [(one.path, one.path_b64) for one in events if isinstance(one, Warned)] == [
        ("work/closed/", None),
        ("work/busy", None),
        (None, None),
    ]


def test_a_name_that_is_no_text_arrives_byte_for_byte() -> None:
    events, notify = _heard()
    notify.item("added", b"work/caf\xe9")
    (item,) = events
    assert isinstance(item, Item)
    assert item.path is None
    assert base64.b64decode(item.path_b64 or "") == b"work/caf\xe9"


def test_control_characters_of_a_message_reach_no_terminal() -> None:
    events, notify = _heard()
    notify.remark("named \x1b]0;evil\x07\nsecond line")
    notify.warn("files.changed", b"x", "named \x1b[2J")
    for event in events:
        assert isinstance(event, Log | Warned)
        assert "\x1b" not in event.message


def test_a_phase_without_a_size_is_told_from_one_with() -> None:
    events, notify = _heard()
    notify.phase("scan")
    notify.progress("pack", 1, 2, 30, 40)
    assert events == [
        Progress(phase="scan"),
        Progress(phase="pack", files_done=1, files_total=2, bytes_done=30, bytes_total=40),
    ]


def test_that_a_path_may_not_be_read_is_said_once_by_all_steps_of_a_command() -> None:
    told: list[Event] = []
    notify = Notifier(told.append)
    for path in (b"work/a", b"work/a", b"work/b"):
        notify.warn("files.unreadable", path, "may not be read, and was left out")
    assert (len(told), notify.warnings) == (2, 2)
    assert notify.unreadable == [b"work/a", b"work/a", b"work/b"]  # each step counts its own
