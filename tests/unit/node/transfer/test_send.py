"""`snapshots send`: what arrives is one complete archive of what was asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.verify import verify_archive
from scratchflow.archive.restore.extract import extract
from scratchflow.model.errors.snapshots import PathMissing, SnapshotDamaged
from scratchflow.model.events import Data, Event
from scratchflow.model.requests import Send
from scratchflow.model.results.transfer import SnapshotSent
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.listed_part import ListedPart
from scratchflow.node.transfer.send import send_snapshot
from tests.odd_tree import make_odd_tree, tree_digest
from tests.unit.conftest import Desk


def send(desk: Desk, target: Path, **asked: object) -> SnapshotSent:
    """The result; what was sent is at the target."""
    desk.events.clear()
    sent = send_snapshot(desk.context, desk.notify, Send(**asked))  # type: ignore[arg-type]  # by name
    content = b"".join(event.content for event in desk.events if isinstance(event, Data))
    target.write_bytes(content)
    if not asked.get("dry_run"):
        assert (sent.size_bytes, sent.digest) == (len(content), WholeDigest().text(content))
    return sent


def unpack(archive: Path, target: Path) -> Path:
    assert verify_archive(archive) == []
    target.mkdir()
    extract(open_index(archive), lambda _: archive, target, warn=lambda *_: None)
    return target


@pytest.mark.slow
def test_a_full_and_an_incremental_snapshot_arrive_whole(desk: Desk, tmp_path: Path) -> None:
    (desk.work / "odd").mkdir()
    make_odd_tree(desk.work / "odd")
    for number in range(2):
        desk.write(f"work/new {number}", "x" * 100_000)
        taken = desk.backup()
        sent = send(desk, tmp_path / f"{number}.tar.lz4")
        assert sent.snapshot == taken.snapshot
        out = unpack(tmp_path / f"{number}.tar.lz4", tmp_path / f"out {number}")
        assert tree_digest(out) == restored_digest(desk, tmp_path / f"copy {number}")


def restored_digest(desk: Desk, place: Path) -> str:
    """The workspace as what a restore elsewhere makes of it."""
    desk.restore(to=place)
    return tree_digest(place)


@pytest.mark.parametrize("later", [False, True])
def test_of_a_file_with_several_names_any_may_be_chosen(
    desk: Desk, tmp_path: Path, later: bool
) -> None:
    first = desk.write("work/a/first", "shared")
    os.truncate(first, 4 << 20)
    os.setxattr(first, "user.note", b"kept")
    for name in ("b/second", "c/third", "c/fourth"):
        (desk.work / name).parent.mkdir(exist_ok=True)
        os.link(desk.work / "a/first", desk.work / name)
    desk.backup()
    if later:
        desk.write("work/README", "changed")
        assert desk.backup().kind == "incremental"
    for number, (paths, names) in enumerate(
        [
            (("work/b",), ["b/second"]),
            (("work/c",), ["c/fourth", "c/third"]),
            (("work/a", "work/c/third"), ["a/first", "c/third"]),
        ]
    ):
        sent = send(desk, tmp_path / f"{number}.tar.lz4", paths=paths)
        assert (sent.written_files, sent.written_bytes) == (len(names), 4 << 20)
        out = unpack(tmp_path / f"{number}.tar.lz4", tmp_path / f"out {number}") / "work"
        found = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
        assert found == names
        one = out / names[0]
        assert one.read_bytes() == first.read_bytes()
        assert one.stat().st_blocks * 512 < one.stat().st_size
        assert os.getxattr(one, "user.note") == b"kept"
        assert len({(out / name).stat().st_ino for name in names}) == 1


def test_a_dry_run_sends_nothing_and_knows_as_much(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    told = send(desk, tmp_path / "none", paths=("work/src",), dry_run=True)
    assert (tmp_path / "none").read_bytes() == b""
    assert (told.written_files, told.written_bytes, told.files) == (1, 7, 3)
    with pytest.raises(PathMissing):
        send(desk, tmp_path / "none", paths=("work/nothing",), dry_run=True)


def test_a_dry_run_can_send_what_a_directory_is_compared_with(desk: Desk) -> None:
    desk.backup()
    events: list[Event] = []
    notify = Notifier(events.append)
    asked = Send(paths=("work/src",), dry_run=True, lists=True)
    sent = send_snapshot(desk.context, notify, asked)
    content = b"".join(event.content for event in events if isinstance(event, Data))
    assert sent.digest == WholeDigest().text(content)
    listed = ListedPart.decoded(content)
    assert [one.path for one in listed.entries] == [b"work", b"work/src", b"work/src/main.py"]


@pytest.mark.parametrize("paths", [(), ("work/data",)])
def test_a_damaged_snapshot_is_not_passed_off_as_whole(
    desk: Desk, tmp_path: Path, paths: tuple[str, ...]
) -> None:
    snapshot = desk.backup().snapshot
    assert snapshot
    archive = desk.place.archive(snapshot)
    archive.chmod(0o600)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    with pytest.raises(SnapshotDamaged):
        send(desk, tmp_path / "sent", paths=paths)


def test_it_says_where_it_will_be_beneath_the_directory_it_is_taken_to(
    desk: Desk, tmp_path: Path
) -> None:
    desk.write("work/results/a.csv", "a")
    desk.backup()
    for paths, place in {("results",): "results", (".",): "", (): "work"}.items():
        assert send(desk, tmp_path / "x", paths=paths, dry_run=True).place == place
