"""A directory of `backup.also` that is missing is named, unless a restore is about to bring it."""

from __future__ import annotations

from scratchflow.disk.trees import remove_tree
from scratchflow.model.events import Log
from tests.unit.conftest import Desk
from tests.unit.node.snapshot.test_shrink import with_also


def missed(desk: Desk) -> list[str]:
    said = [event.message for event in desk.events if isinstance(event, Log)]
    return [message for message in said if "named in `backup.also`, is not in" in message]


def test_a_backup_names_what_is_missing(desk: Desk) -> None:
    desk = with_also(desk, "env", "work2")
    desk.write("env/lib")
    desk.backup()
    (only,) = missed(desk)
    assert only.startswith("`work2`")


def test_a_restore_does_not_miss_what_it_brings(desk: Desk) -> None:
    desk = with_also(desk, "env/sub", "data")
    desk.write("env/sub/lib")
    wanted = str(desk.backup().snapshot)
    remove_tree(desk.scratch / "env")
    desk.write("work/README", "an older copy of this node")
    desk.events.clear()
    restored = desk.restore(wanted)
    assert restored.safety_snapshot
    assert (desk.scratch / "env/sub/lib").exists()
    assert {message.split()[0] for message in missed(desk)} == {"`data`,"}
