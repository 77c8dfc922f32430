"""What a backup says of itself: what changed, what is gone, and what it could not save."""

from __future__ import annotations

from scratchflow.cli.backup_call import shown
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.result import Heard, unsaved_fields
from tests.unit.conftest import Desk


def test_removed_files_count_and_renamed_ones_do_not(desk: Desk) -> None:
    desk.write("work/copy-1", b"the same bytes" * 1000)
    desk.write("work/old-name", b"other bytes" * 1000)
    (desk.work / "link").symlink_to("README")
    desk.backup()
    (desk.work / "old-name").rename(desk.work / "new-name")
    (desk.work / "README").unlink()
    (desk.work / "link").unlink()
    taken = desk.backup()
    assert taken.removed_files == 1
    assert (taken.kind, taken.changed_files) == ("incremental", 0)


def test_an_unchanged_backup_says_what_the_snapshot_holds(desk: Desk) -> None:
    first = desk.backup()
    again = desk.backup()
    assert (again.kind, again.snapshot) == ("unchanged", first.snapshot)
    assert (again.files, again.bytes) == (first.files, first.bytes)
    assert (again.changed_files, again.changed_bytes, again.stored_bytes) == (0, 0, 0)


def test_each_snapshot_tells_only_of_what_it_could_not_read_itself() -> None:
    notify = Notifier(lambda _: None)
    notify.warn("files.unreadable", b"before", "x")
    heard = Heard.so_far(notify)
    assert heard == Heard(1, 1)
    for path in (b"a", b"b", b"a"):
        notify.warn("files.unreadable", path, "x")
    assert heard.unsaved(notify) == [b"a", b"b"]


def test_of_many_unsaved_paths_all_are_counted_and_some_are_shown() -> None:
    fields = unsaved_fields([b"work/%d\x1b[2J" % number for number in range(1000)])
    assert fields["unsaved"] == 1000
    assert len(fields["unsaved_paths"]) == 20
    assert "\x1b" not in "".join(fields["unsaved_paths"])
    assert unsaved_fields([b"caf\xe9"])["unsaved_paths"][0].isprintable()


def test_files_that_were_copied_over_or_beside_others_are_counted(desk: Desk) -> None:
    first, second = desk.write("work/za", "one content"), desk.write("work/zb", "another one")
    desk.backup()
    desk.write("work/zc", first.read_text())
    copied = desk.backup()
    assert (copied.kind, copied.changed_files, copied.moved_files) == ("incremental", 0, 1)
    first.write_text(second.read_text())
    over = desk.backup()
    assert (over.kind, over.changed_files, over.moved_files) == ("incremental", 0, 1)
    assert "0 files (0 B) changed, 1 file copied or moved" in next(iter(shown(over)))
