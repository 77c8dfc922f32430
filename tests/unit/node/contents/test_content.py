"""`snapshots cat` sends the very bytes that were saved, or says why not."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import (
    ContentTooLarge,
    PathAmbiguous,
    PathInOthers,
    PathIsDirectory,
    PathLeadsOut,
    PathMissing,
    PathUnsaved,
    SnapshotDamaged,
    SnapshotMissing,
)
from scratchflow.model.events import Data
from scratchflow.model.requests import Cat
from scratchflow.model.results.snapshots import FileShown
from scratchflow.node.contents.content import send_content
from tests.odd_tree import make_odd_tree
from tests.unit.conftest import Desk


def cat(desk: Desk, path: str, snapshot: str = "latest", most_bytes: int = 0) -> bytes:
    return shown(desk, path, snapshot, most_bytes)[1]


def shown(
    desk: Desk, path: str, snapshot: str = "latest", most_bytes: int = 0
) -> tuple[FileShown, bytes]:
    desk.events.clear()
    done = send_content(
        desk.context, desk.notify, Cat(path=path, snapshot=snapshot, most_bytes=most_bytes)
    )
    return done, b"".join(event.content for event in desk.events if isinstance(event, Data))


def test_every_file_of_an_odd_tree_comes_byte_for_byte(desk: Desk) -> None:
    make_odd_tree(desk.work / "odd")
    desk.backup()
    files = desk.content()
    assert len(files) > 10
    for path, content in files.items():
        done, sent = shown(desk, path)
        assert (sent, done.size) == (content, len(content)), path


@pytest.mark.slow
def test_a_large_file_that_changed_in_places_comes_from_several_archives(desk: Desk) -> None:
    content = bytearray(random.Random(3).randbytes(20 << 20))  # noqa: S311 - data
    desk.write("work/large", bytes(content))
    first = desk.backup().snapshot or ""
    before = bytes(content)
    for at in (5 << 20, 12 << 20):
        content[at : at + 3] = b"new"
        desk.write("work/large", bytes(content))
        assert desk.backup().snapshot
    assert cat(desk, "large") == bytes(content)
    assert cat(desk, "large", first) == before


def test_holes_are_zeros(desk: Desk) -> None:
    file = desk.write("work/sparse", b"begin")
    with file.open("r+b") as opened:
        opened.seek(3 << 20)
        opened.write(b"end")
        opened.truncate(5 << 20)
    desk.backup()
    assert cat(desk, "sparse") == file.read_bytes()


def test_an_empty_file_is_empty(desk: Desk) -> None:
    desk.write("work/empty", b"")
    desk.backup()
    assert cat(desk, "empty") == b""


def test_a_link_leads_to_what_it_meant_then(desk: Desk) -> None:
    (desk.work / "link").symlink_to("README")
    first = desk.backup().snapshot or ""
    desk.write("work/README", "changed")
    desk.backup()
    assert cat(desk, "link", first) == b"hello"


def test_an_older_version_by_a_name_that_people_use(desk: Desk) -> None:
    desk.backup()
    desk.write("work/README", "changed")
    desk.backup()
    assert (cat(desk, "README", "latest~1"), cat(desk, "README")) == (b"hello", b"changed")


def test_what_has_no_content_is_refused_with_the_way_on(desk: Desk) -> None:
    (desk.work / "out").symlink_to("/etc/hostname")
    (desk.work / "to-src").symlink_to("src")
    desk.backup()
    for path in ("src", "work", "to-src"):
        with pytest.raises(PathIsDirectory) as caught:
            cat(desk, path)
        assert f"show {desk.ids[-1]} {path}" in caught.value.shown_hint
    with pytest.raises(PathIsDirectory) as caught:
        cat(desk, "/")
    assert f"restore {desk.ids[-1]} --path .`" in caught.value.shown_hint
    with pytest.raises(PathLeadsOut, match="`/etc/hostname`"):
        cat(desk, "out")
    with pytest.raises(PathAmbiguous):
        cat(desk, "*")


def test_what_is_not_there_is_refused_with_who_has_it(desk: Desk) -> None:
    gone = desk.write("work/gone")
    first = desk.backup().snapshot
    gone.unlink()
    desk.write("work/new")
    second = desk.backup().snapshot or ""
    desk.write("work/newer")
    errors: list[tuple[str, str, type[ScratchflowError]]] = [
        ("none", "latest", PathMissing),
        ("gone", "latest", PathInOthers),
        ("newer", "latest", PathUnsaved),
        ("new", first or "", PathInOthers),
        ("newer", second, PathMissing),
    ]
    for path, snapshot, error in errors:
        with pytest.raises(error):
            cat(desk, path, snapshot)
    with pytest.raises(SnapshotMissing):
        cat(desk, "README", "20200101T000000Z-000000")


def test_nothing_is_sent_of_a_file_that_is_too_large(desk: Desk) -> None:
    desk.backup()
    assert cat(desk, "README", most_bytes=5) == b"hello"
    with pytest.raises(ContentTooLarge, match="5 B"):
        cat(desk, "README", most_bytes=4)
    assert not any(isinstance(event, Data) for event in desk.events)


def test_damaged_content_is_an_error(desk: Desk) -> None:
    archive = desk.place.archive(desk.backup().snapshot or "")
    with archive.open("r+b") as file:
        file.seek(archive.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0xFF]))
    with pytest.raises(SnapshotDamaged):
        cat(desk, "data/big.bin")


def test_it_needs_no_scratch(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    (tmp_path / "scratch").rename(tmp_path / "away")
    assert cat(desk, "README") == b"hello"
