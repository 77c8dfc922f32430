"""`snapshots history`: one row a version of a file, and nothing but indexes is read."""

from __future__ import annotations

import os

import pytest

from scratchflow.model.errors.snapshots import PathAmbiguous, PathInNone
from scratchflow.model.requests import History
from scratchflow.model.results.snapshots import PathHistory
from scratchflow.node.contents.versions import path_history
from tests.unit.conftest import Desk


def history(desk: Desk, path: str) -> PathHistory:
    return path_history(desk.context, desk.notify, History(path=path))


def rows(desk: Desk, path: str) -> list[tuple[str, str, int | None]]:
    return [(one.change, one.snapshot, one.size) for one in history(desk, path).versions]


def saved(desk: Desk, content: str) -> str:
    desk.write("work/other", os.urandom(4).hex())  # so that there is a snapshot every time
    desk.write("work/file", content)
    return desk.backup().snapshot or ""


def test_snapshots_with_the_same_content_are_one_version(desk: Desk) -> None:
    none = desk.backup().snapshot
    first, again, second = saved(desk, "1"), saved(desk, "1"), saved(desk, "two")
    found = history(desk, "file")
    assert rows(desk, "file") == [("added", first, 1), ("changed", second, 3)]
    assert [one.last for one in found.versions] == [again, second]
    assert (found.path, found.checked) == ("work/file", 4)
    assert none in desk.ids


def test_a_file_that_was_deleted_and_came_back(desk: Desk) -> None:
    first = saved(desk, "1")
    (desk.work / "file").unlink()
    gone = desk.backup().snapshot
    desk.write("work/other", "now")
    later = desk.backup().snapshot
    back = saved(desk, "1")
    assert rows(desk, "file") == [("added", first, 1), ("deleted", gone, None), ("added", back, 1)]
    deleted = history(desk, "file").versions[1]
    assert (deleted.last, deleted.kind, deleted.mode) == (later, None, None)


def test_a_file_that_is_gone_is_found_in_older_snapshots(desk: Desk) -> None:
    first = saved(desk, "1")
    (desk.work / "file").unlink()
    gone = desk.backup().snapshot
    for path in ("file", "work/file", str(desk.work / "file"), "fil?"):
        assert rows(desk, path) == [("added", first, 1), ("deleted", gone, None)]


def test_permissions_alone_are_a_version_of_their_own(desk: Desk) -> None:
    (desk.work / "file").touch()
    (desk.work / "file").chmod(0o644)
    saved(desk, "1")
    (desk.work / "file").chmod(0o755)
    changed = desk.backup().snapshot
    one = history(desk, "file").versions[-1]
    assert (one.change, one.snapshot) == ("mode", changed)
    assert (one.mode_before, one.mode) == ("0644", "0755")


def test_a_set_uid_bit_alone_is_no_version(desk: Desk) -> None:
    desk.write("work/file", "1").chmod(0o755)
    first = desk.backup().snapshot
    (desk.work / "file").chmod(0o4755)
    saved(desk, "1")
    assert rows(desk, "file") == [("added", first, 1)]


def test_a_link_and_a_directory_have_versions_too(desk: Desk) -> None:
    (desk.work / "thing").mkdir()
    desk.backup()
    (desk.work / "thing").rmdir()
    (desk.work / "thing").symlink_to("a")
    desk.backup()
    (desk.work / "thing").unlink()
    (desk.work / "thing").symlink_to("b")
    desk.backup()
    found = history(desk, "thing").versions
    assert [(one.change, one.kind, one.target) for one in found] == [
        ("added", "directory", None),
        ("changed", "link", "a"),
        ("changed", "link", "b"),
    ]


def test_what_only_a_fork_has_is_marked(desk: Desk) -> None:
    first, second = saved(desk, "1"), saved(desk, "two")
    desk.restore(first)
    desk.write("work/file", "other way")
    third = desk.backup().snapshot
    found = history(desk, "file").versions
    assert [(one.snapshot, one.fork) for one in found][-1] == (third, False)
    assert [one.snapshot for one in found if one.fork] == [second]


def test_a_snapshot_that_cannot_be_read_is_a_warning(desk: Desk) -> None:
    first, second, third = saved(desk, "1"), saved(desk, "two"), saved(desk, "1")
    os.truncate(desk.place.archive(second), 100)
    desk.events.clear()
    found = history(desk, "file")
    assert [one.snapshot for one in found.versions] == [first]
    assert (found.versions[0].last, found.checked) == (third, 2)
    assert desk.warnings.count("snapshots.unreadable") == 1


def test_a_path_that_no_snapshot_has(desk: Desk) -> None:
    desk.backup()
    with pytest.raises(PathInNone, match="1 looked at"):
        history(desk, "none")
    with pytest.raises(PathInNone):
        history(desk, "none*")
    with pytest.raises(PathAmbiguous):
        history(desk, "*")


def test_no_content_is_read(desk: Desk) -> None:
    first = saved(desk, "1")
    saved(desk, "two")
    archive = desk.place.archive(first)
    with archive.open("r+b") as file:  # the first data frame
        file.seek(40)
        file.write(bytes(40))
    assert [one.size for one in history(desk, "file").versions] == [1, 3]


def test_a_name_that_is_not_utf8_is_found_by_a_glob(desk: Desk) -> None:
    (desk.work / os.fsdecode(b"caf\xe9")).write_text("x")
    desk.backup()
    found = history(desk, "caf?")
    assert found.path is None
    assert found.path_b64
    assert len(found.versions) == 1
