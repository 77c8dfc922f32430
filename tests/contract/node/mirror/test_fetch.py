"""Snapshots come back from the mirror whole, also into a store that is gone, also after a cut."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.cli.transfer_words import fetched
from scratchflow.model.errors.snapshots import (
    DamagedOnMirror,
    LatestUnreadable,
    NothingOnMirror,
    SnapshotDamaged,
    SnapshotMissing,
)
from scratchflow.model.errors.transfer import MirrorFailed
from scratchflow.model.events import Event, Progress
from scratchflow.model.requests import ArchiveOf, FetchSnapshots, Prune
from scratchflow.model.results.snapshots import SnapshotsFetched
from scratchflow.model.snapshot import Manifest, checked_manifest, encode_manifest, seal_manifest
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.mirror.fetch import fetch_snapshots, sound
from scratchflow.node.progress import Notifier
from scratchflow.node.retention import prune_snapshots
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import known_damaged
from scratchflow.store.identity import read_store_id
from tests.contract.node.mirror.conftest import LARGE_BYTES, desk_with, mirror, mirror_files
from tests.mirrors import Server
from tests.unit.conftest import Desk

# Each starts rclone several times.

ALL = FetchSnapshots(every=True)


def fetch(desk: Desk, asked: FetchSnapshots = ALL) -> SnapshotsFetched:
    return fetch_snapshots(desk.context, desk.notify, asked)


def require_sound(desk: Desk, snapshots: list[str]) -> None:
    assert desk.ids == snapshots
    assert verify_snapshots(desk.context, desk.notify, []).bad == []


def test_a_store_that_was_deleted_whole_is_brought_back(server: Server, tmp_path: Path) -> None:
    desk = desk_with(server, tmp_path / "desk")
    desk.backup()
    desk.write("work/README", "changed")
    desk.backup()
    content, ids, store_id = desk.content(), desk.ids, read_store_id(desk.place)
    mirror(desk)
    shutil.rmtree(desk.context.store)
    foretold = fetch(desk, FetchSnapshots(every=True, dry_run=True))
    assert desk.ids == []
    done = fetch(desk)
    assert done.fetched == foretold.fetched == ids
    assert done.fetched_bytes == foretold.fetched_bytes
    assert done.newest == ids[-1]
    require_sound(desk, ids)
    assert read_store_id(desk.place) == store_id
    desk.restore(to=desk.scratch / "out")
    assert desk.content(desk.scratch / "out/work") == content
    assert mirror(desk).there == 2  # and goes on with the same mirror
    assert fetch(desk).fetched == []


def test_cut_off_in_the_middle_it_goes_on_in_the_middle(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with(server, tmp_path / "desk")
    desk.backup()
    desk.write("work/large", os.urandom(LARGE_BYTES))
    desk.backup()
    ids = desk.ids
    mirror(desk)
    shutil.rmtree(desk.context.store)
    came: list[int] = []

    def cut(event: Event) -> None:
        if isinstance(event, Progress) and event.bytes_done > 1 << 20 and not came:
            server.kill()
            came.append(event.bytes_done)

    monkeypatch.setenv("RCLONE_BWLIMIT", "8M")
    with pytest.raises(MirrorFailed):
        fetch_snapshots(desk.context, Notifier(cut), ALL)
    assert came
    require_sound(desk, ids[:1])
    server.start()
    monkeypatch.delenv("RCLONE_BWLIMIT")
    assert fetch(desk).fetched_bytes < LARGE_BYTES
    require_sound(desk, ids)


def test_the_newest_or_a_named_one_comes_with_what_it_needs(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.write("work/large", os.urandom(9 << 20))
    first = desk.backup().snapshot or ""
    desk.write("work/README", "second")
    second = desk.backup().snapshot or ""
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    mirror(desk)  # the first archive has no manifest, here or there
    desk.write("work/README", "third")
    third = desk.backup().snapshot or ""
    mirror(desk)
    shutil.rmtree(desk.context.store)
    assert fetch(desk, FetchSnapshots(snapshots=("latest",))).fetched == [third]
    require_sound(desk, [third])
    assert fetch(desk, FetchSnapshots(snapshots=(second,))).fetched == [second]
    require_sound(desk, [second, third])
    with pytest.raises(SnapshotMissing):
        fetch(desk, FetchSnapshots(snapshots=("20200101T000000Z-abcdef",)))


def test_what_is_damaged_on_the_mirror_never_becomes_a_snapshot(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    snapshot = desk.backup().snapshot or ""
    mirror(desk)
    archive = mirror_files(directory) / f"{snapshot}.tar.lz4"
    content = bytearray(archive.read_bytes())
    content[50] ^= 1
    archive.write_bytes(content)
    shutil.rmtree(desk.context.store)
    one = FetchSnapshots(snapshots=(snapshot,))
    with pytest.raises(SnapshotDamaged, match="digest"):
        fetch(desk, one)
    archive.write_bytes(content[:-1])
    with pytest.raises(SnapshotDamaged, match="is missing, or not as large"):
        fetch(desk, one)
    assert fetch(desk).damaged == [snapshot]
    assert desk.ids == []


def rot(archive: Path) -> None:
    """A byte of it changes, as on a failing disk; its size does not."""
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.chmod(0o600)
    archive.write_bytes(content)


def three_snapshots(desk: Desk) -> list[str]:
    """The later ones need the archive of the first."""
    for word in ("first", "second", "third"):
        desk.write("work/README", word)
        desk.backup()
    return desk.ids


def known_bad(desk: Desk) -> frozenset[str]:
    return known_damaged(desk.place, read_catalogue(desk.place).snapshots)


@pytest.mark.parametrize("named", ["all", "latest"])
def test_what_is_known_to_be_damaged_in_the_store_is_brought_again_and_mends_all_that_need_it(
    directory: Server, tmp_path: Path, named: str
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    ids = three_snapshots(desk)
    mirror(desk)
    archive = desk.place.archive(ids[0])
    rot(archive)
    asked = ALL if named == "all" else FetchSnapshots(snapshots=("latest",))
    assert fetch(desk, asked).fetched == []  # nobody has read it since
    assert verify_snapshots(desk.context, desk.notify, []).bad
    foretold = fetch(desk, msgspec.structs.replace(asked, dry_run=True))
    assert (foretold.fetched_bytes, foretold.mended) == (archive.stat().st_size, [])
    done = fetch(desk, asked)
    assert done.fetched == foretold.fetched == (ids if named == "all" else ids[-1:])
    assert (done.fetched_bytes, done.mended) == (archive.stat().st_size, ids)
    assert known_bad(desk) == set()
    assert [line for line in fetched(done) if "whole again" in line and ids[0][-6:] in line]
    require_sound(desk, ids)
    assert fetch(desk, asked).fetched == []


def test_a_damaged_archive_whose_snapshot_is_pruned_here_is_brought_again_for_those_that_need_it(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    first, second, third = three_snapshots(desk)
    mirror(desk)
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    rot(desk.place.archive(first))
    assert verify_snapshots(desk.context, desk.notify, []).bad
    done = fetch(desk, FetchSnapshots(snapshots=(second,)))
    assert (done.blocked, done.mended) == ([], [second, third])
    require_sound(desk, [second, third])


def test_an_archive_that_is_missing_in_the_store_comes_again(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    ids = three_snapshots(desk)
    mirror(desk)
    desk.place.archive(ids[0]).unlink()
    assert verify_snapshots(desk.context, desk.notify, []).bad
    assert fetch(desk).mended == ids
    assert known_bad(desk) == set()
    require_sound(desk, ids)


def test_one_that_is_damaged_here_and_on_the_mirror_is_named_and_stays_known_as_damaged(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    ids = three_snapshots(desk)
    mirror(desk)
    for archive in (desk.place.archive(ids[2]), mirror_files(directory) / f"{ids[2]}.tar.lz4"):
        rot(archive)
    assert verify_snapshots(desk.context, desk.notify, []).bad
    done = fetch(desk)
    assert (done.fetched, done.mended, done.damaged) == ([], [], [ids[2]])
    assert known_bad(desk) == {ids[2]}


def test_one_that_is_damaged_on_the_mirror_is_named_and_the_others_come(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    first, second, third = three_snapshots(desk)
    mirror(desk)
    there = mirror_files(directory) / f"{second}.tar.lz4"
    rot(there)
    assert mirror(desk).there == 3  # it counts by size
    there.unlink()  # as docs/mirror.md says
    assert mirror(desk).sent == [second]
    assert there.read_bytes() == desk.place.archive(second).read_bytes()
    rot(there)
    shutil.rmtree(desk.context.store)
    done = fetch(desk)
    assert (done.fetched, done.damaged) == ([first, third], [second])
    assert done.exit_code() == SnapshotDamaged.exit_code
    assert any(f"damaged or missing on `{done.mirror}`" in line for line in fetched(done))
    require_sound(desk, [first, third])
    with pytest.raises(SnapshotDamaged, match=f"{second}.tar.lz4` on the mirror"):
        fetch(desk, FetchSnapshots(snapshots=(second,)))


def test_a_missing_and_a_damaged_archive_there_stop_only_the_snapshots_that_need_them(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    alone, *rest = three_snapshots(desk)
    desk.write("work/README", "whole again")
    last = desk.backup(full=True).snapshot or ""
    mirror(desk)
    rot(mirror_files(directory) / f"{alone}.tar.lz4")
    (mirror_files(directory) / f"{rest[1]}.tar.lz4").unlink()
    needing = [one.id for one in read_catalogue(desk.place).snapshots if alone in one.needs]
    shutil.rmtree(desk.context.store)
    done = fetch(desk)
    assert sorted(done.damaged) == sorted({alone, rest[1], *needing})
    assert done.fetched == sorted({alone, *rest, last}.difference(done.damaged))
    assert last in done.fetched
    assert done.exit_code() == SnapshotDamaged.exit_code
    require_sound(desk, done.fetched)
    with pytest.raises(DamagedOnMirror, match="is missing") as error:
        fetch(desk, FetchSnapshots(snapshots=(rest[1],)))
    assert f"{rest[1]}.tar.lz4" in error.value.shown_hint


def test_what_an_earlier_run_left_of_another_archive_is_not_taken_for_damage_of_the_mirror(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    ids = desk.ids
    mirror(desk)
    shutil.rmtree(desk.context.store)
    desk.place.arriving.mkdir(parents=True, mode=0o700)
    (desk.place.arriving / f"{ids[0]}.part").write_bytes(b"of another one")
    assert fetch(desk).fetched == ids
    require_sound(desk, ids)


def _half(manifest: Path) -> None:
    manifest.write_bytes(manifest.read_bytes()[:99])


def _newer(manifest: Path) -> None:
    _forge(manifest, schema=99)


def _forge(manifest: Path, **changed: object) -> None:
    """As somebody would who can write to the mirror: its checksum is right."""
    body = {**msgspec.json.decode(checked_manifest(manifest.read_bytes())), **changed}
    manifest.write_bytes(seal_manifest(msgspec.json.encode(body)))


def _directory(manifest: Path) -> None:
    manifest.unlink()
    manifest.mkdir()


@pytest.mark.parametrize(
    ("hurt", "reason"),
    [(_half, "damaged"), (_newer, "a newer scratchflow"), (_directory, "is no file")],
)
def test_a_snapshot_whose_manifest_cannot_be_used_is_named_and_no_older_one_takes_its_place(
    directory: Server, tmp_path: Path, hurt: Callable[[Path], None], reason: str
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    first = desk.backup().snapshot or ""
    desk.write("work/README", "second")
    second = desk.backup().snapshot or ""
    mirror(desk)
    hurt(mirror_files(directory) / f"{second}.json")
    shutil.rmtree(desk.context.store)
    with pytest.raises(LatestUnreadable, match=reason) as refused:
        fetch(desk, FetchSnapshots(snapshots=("latest",)))
    assert f"the one before it is `{first}`" in refused.value.shown_hint
    assert desk.ids == []
    done = fetch(desk)
    assert (done.fetched, list(done.unreadable), done.exit_code()) == ([first], [second], 31)
    assert reason in "".join(fetched(done))
    require_sound(desk, [first])


def test_a_damaged_manifest_in_the_store_is_put_right_and_anything_else_there_is_named(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    ids = three_snapshots(desk)
    mirror(desk)
    half, other = (desk.place.manifest(one) for one in ids[:2])
    content = half.read_bytes()
    half.write_bytes(content[:100])
    other.unlink()
    other.mkdir()
    done = fetch(desk)
    assert (done.fetched, list(done.in_the_way)) == ([ids[0]], [ids[1]])
    assert half.read_bytes() == content
    assert done.exit_code() == SnapshotDamaged.exit_code
    assert any(f"`{other}`: " in line and "move it away" in line for line in fetched(done))
    other.rmdir()
    assert fetch(desk).fetched == [ids[1]]
    require_sound(desk, ids)


def test_a_manifest_that_does_not_name_what_its_archive_reads_is_refused(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    first, second, _ = three_snapshots(desk)
    mirror(desk)
    _forge(mirror_files(directory) / f"{second}.json", needs=[])
    shutil.rmtree(desk.context.store)
    with pytest.raises(SnapshotDamaged, match=f"does not name the archive `{first}`"):
        fetch(desk, FetchSnapshots(snapshots=(second,)))
    assert fetch(desk).damaged == [second]
    assert second not in desk.ids


@pytest.mark.parametrize("there", ["nothing", "a file"])
def test_a_mirror_without_any_snapshot_is_told_as_such(
    directory: Server, tmp_path: Path, there: str
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    if there == "a file":
        mirror_files(directory).parent.mkdir(parents=True, exist_ok=True)
        mirror_files(directory).write_text("x")
    for asked in (ALL, FetchSnapshots(snapshots=("latest",))):
        with pytest.raises(NothingOnMirror, match="no snapshot on the mirror"):
            fetch(desk, asked)


def test_an_id_on_the_mirror_that_is_none_does_not_become_the_store_s(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    mirror(desk)
    (mirror_files(directory) / "store.json").write_text('{"id":"../../../x"}')
    ids = desk.ids
    shutil.rmtree(desk.context.store)
    shutil.rmtree(desk.scratch)  # another node, which does not know the lost store
    assert fetch(desk).fetched == ids
    require_sound(desk, ids)


def test_a_pruned_snapshot_whose_archive_was_rewritten_here_is_named_and_left(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.write("work/large", os.urandom(9 << 20))
    desk.write("work/other", os.urandom(20 << 20))
    first = desk.backup().snapshot or ""
    mirror(desk)
    (desk.work / "other").unlink()
    second = desk.backup(allow_shrink=True).snapshot or ""
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    done = fetch(desk)
    assert (done.fetched, done.blocked) == ([], [first])
    require_sound(desk, [second])


def test_an_archive_without_a_manifest_is_compared_with_its_own_footer(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    snapshot = desk.backup().snapshot or ""
    content = desk.place.archive(snapshot).read_bytes()
    pieces = [content[at : at + 1000] for at in range(0, len(content), 1000)]
    archive = ArchiveOf(snapshot, len(content))
    assert b"".join(sound(pieces, archive)) == content
    pieces[3] = bytes(1000)
    with pytest.raises(SnapshotDamaged):
        list(sound(pieces, archive))
    with pytest.raises(SnapshotDamaged):
        list(sound([b"short"], archive))


@pytest.mark.parametrize("name", ["other", "../../x"])
def test_a_snapshot_of_a_workspace_of_another_name_is_named_and_not_brought(
    directory: Server, tmp_path: Path, name: str
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    first = desk.backup().snapshot or ""
    desk.write("work/README", "second")
    second = desk.backup(full=True).snapshot or ""
    mirror(desk)
    file = mirror_files(directory) / f"{second}.json"
    manifest = msgspec.json.decode(checked_manifest(file.read_bytes()), type=Manifest)
    file.write_bytes(encode_manifest(msgspec.structs.replace(manifest, workspace=name)))
    shutil.rmtree(desk.context.store)
    done = fetch(desk)
    assert (done.fetched, list(done.unreadable)) == ([first], [second])
    assert name in done.unreadable[second]
    assert done.exit_code() == SnapshotDamaged.exit_code
    with pytest.raises(LatestUnreadable):
        fetch(desk, FetchSnapshots(snapshots=("latest",)))
