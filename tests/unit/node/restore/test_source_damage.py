"""Damage that a reader meets is noted, so that `status`, `snapshots list` and the next backup know of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.archive.read.path_state import read_state
from scratchflow.login.status.store_problems import store_problems
from scratchflow.model.errors.snapshots import (
    LastSnapshot,
    PerhapsDamaged,
    SnapshotClosed,
    SnapshotDamaged,
)
from scratchflow.model.requests import Cat, DiffWorkspace, Prune, Send
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.snapshot import encode_manifest
from scratchflow.node.contents.content import send_content
from scratchflow.node.history.history import list_snapshots
from scratchflow.node.history.live_diff import diff_workspace
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.retention import prune_snapshots
from scratchflow.node.transfer.send import send_snapshot
from scratchflow.node.transfer.transfer import export_snapshot
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import damaged_archives, known_problems, read_verified
from scratchflow.store.checks.whole import newest_whole
from tests.unit.conftest import Desk

Read = Callable[[Desk, Path], object]


def _cat(desk: Desk, _: Path) -> object:
    return send_content(desk.context, desk.notify, Cat(path="big", snapshot="latest"))


def _send(desk: Desk, _: Path) -> object:
    return send_snapshot(desk.context, desk.notify, Send())


def _export(desk: Desk, to: Path) -> object:
    return export_snapshot(desk.context, desk.notify, "latest", to / "out.tar.lz4", dry_run=False)


def _restore(desk: Desk, to: Path) -> object:
    return desk.restore(to=to / "elsewhere")


def _damage(desk: Desk, snapshot: str) -> None:
    archive = desk.place.archive(snapshot)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 4  # in the big file
    archive.write_bytes(content)


@pytest.mark.parametrize("read", [_restore, _cat, _send, _export])
@pytest.mark.parametrize("kind", ["full", "incremental"])
def test_damage_that_a_reader_meets_is_noted(
    desk: Desk, tmp_path: Path, read: Read, kind: str
) -> None:
    desk.write("work/big", os.urandom(1 << 20))
    first = newest = str(desk.backup().snapshot)
    if kind == "incremental":
        desk.write("work/README", "changed")
        newest = str(desk.backup().snapshot)
    _damage(desk, first)
    with pytest.raises(SnapshotDamaged):
        read(desk, tmp_path)
    rows = list_snapshots(desk.context, desk.notify).snapshots
    assert [one.id for one in rows if one.damaged] == sorted({first, newest})
    assert damaged_archives(desk.place, read_catalogue(desk.place).snapshots) == {first}


def _part(desk: Desk, snapshot: str, path: str, to: Path) -> None:
    desk.restore(snapshot, paths=(path,))
    desk.restore(snapshot, paths=(path,), to=to / "part")
    send_snapshot(desk.context, desk.notify, Send(snapshot=snapshot, paths=(path,)))
    send_content(desk.context, desk.notify, Cat(path=path, snapshot=snapshot))


@pytest.mark.parametrize("share_left", [0.1, 0.0])
def test_what_lies_in_other_archives_than_the_one_that_is_cut_can_be_read(
    desk: Desk, tmp_path: Path, share_left: float
) -> None:
    desk.write("work/big", os.urandom(1 << 20))
    os.link(desk.work / "big", desk.work / "other-name")
    first = desk.place.archive(str(desk.backup().snapshot))
    desk.write("work/only", "here")
    newest = str(desk.backup().snapshot)
    if share_left:
        os.truncate(first, int(first.stat().st_size * share_left))
    else:
        first.unlink()
    (desk.work / "only").unlink()
    with pytest.raises(SnapshotDamaged) as caught:
        desk.restore(newest)
    assert "` brings a file or directory of it that is whole" in caught.value.shown_hint
    _part(desk, newest, "only", tmp_path)
    assert (desk.work / "only").read_text() == "here"
    assert (tmp_path / "part/only").read_text() == "here"
    (desk.work / "big").unlink()
    (desk.work / "other-name").unlink()
    for path in ("big", "other-name", "*"):
        with pytest.raises(SnapshotDamaged):
            desk.restore(newest, paths=(path,))
        with pytest.raises(SnapshotDamaged):
            send_snapshot(desk.context, desk.notify, Send(snapshot=newest, paths=(path,)))
    with pytest.raises(SnapshotDamaged):
        send_content(desk.context, desk.notify, Cat(path="big", snapshot=newest))
    assert not (desk.work / "big").exists()


def test_what_is_read_of_an_archive_that_lost_its_last_byte_is_brought_and_nothing_is_called_damaged_for_it(
    desk: Desk, tmp_path: Path
) -> None:
    _, second, third = _three_on_a_cut_base(desk)
    big = (desk.work / "big").read_bytes()
    (desk.work / "big").write_bytes(b"wrong")
    for snapshot in (second, third):
        verify_snapshots(desk.context, desk.notify, [snapshot])
        _part(desk, snapshot, "big", tmp_path / snapshot)
        assert (tmp_path / snapshot / "part/big").read_bytes() == big
    assert (desk.work / "big").read_bytes() == big
    assert not {second, third} & {*_problems(desk)["snapshots.damaged"][0]}


def test_an_archive_that_was_away_is_not_noted_as_damaged(desk: Desk) -> None:
    first = desk.place.archive(str(desk.backup().snapshot))
    desk.write("work/only", "here")
    newest = str(desk.backup().snapshot)
    first.rename(first.with_suffix(".away"))
    with pytest.raises(SnapshotDamaged):
        desk.restore(newest, paths=("README",))
    first.with_suffix(".away").rename(first)
    assert _problems(desk) == {}
    desk.restore(newest, paths=("README",))


def test_what_needs_an_archive_that_was_cut_stays_in_doubt_when_its_own_snapshot_is_removed(
    desk: Desk,
) -> None:
    base, second, third = _three_on_a_cut_base(desk)
    os.truncate(desk.place.archive(base), 100_000)
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(base,)))
    assert desk.ids == [second, third]
    rows = list_snapshots(desk.context, desk.notify).snapshots
    assert [bool(one.perhaps_damaged) for one in rows] == [True, True]
    assert _problems(desk)["snapshots.doubtful"][0] == [second, third]
    assert newest_whole(read_catalogue(desk.place), read_verified(desk.place)) is None
    desk.write("work/README", "changed")
    assert desk.backup().kind == "full"
    bad = verify_snapshots(desk.context, desk.notify, [second, third]).bad
    assert [one.id for one in bad] == [second, third]


def test_one_that_may_be_whole_is_not_removed_as_the_last(desk: Desk) -> None:
    base, second, third = _three_on_a_cut_base(desk)
    for unwanted in ((second, third), (base, second, third)):
        with pytest.raises(LastSnapshot):
            prune_snapshots(desk.context, desk.notify, Prune(snapshots=unwanted))
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(base, second)))
    assert desk.ids == [third]


def test_what_may_be_damaged_stays_what_the_workspace_continues(desk: Desk) -> None:
    _, _, third = _three_on_a_cut_base(desk)
    assert diff_workspace(desk.context, desk.notify, DiffWorkspace()).older == third
    desk.write("work/README", "changed")
    taken = desk.backup()
    assert (taken.kind, taken.parent) == ("full", third)
    rows = list_snapshots(desk.context, desk.notify).snapshots
    assert not any(one.fork for one in rows)


@pytest.mark.parametrize("look", [_restore, _cat, _send, _export])
def test_an_archive_that_may_not_be_opened_is_not_called_damaged(
    desk: Desk, tmp_path: Path, look: Read
) -> None:
    desk.write("work/big", os.urandom(1 << 20))
    base = str(desk.backup().snapshot)
    desk.write("work/only", "here")
    newest = str(desk.backup().snapshot)
    desk.place.archive(base).chmod(0)
    found = verify_snapshots(desk.context, desk.notify, [])
    assert ([one.id for one in found.closed], found.bad, found.checked) == ([base, newest], [], 0)
    assert "cannot be opened: Permission denied" in found.closed[0].reason
    assert found.exit_code() == 31
    with pytest.raises(SnapshotClosed) as caught:
        look(desk, tmp_path)
    assert "chmod u+r" in caught.value.shown_hint
    assert _problems(desk) == {}
    desk.place.archive(base).chmod(0o600)
    look(desk, tmp_path)


def test_a_snapshot_found_sound_stays_so_when_the_one_whose_archive_it_reads_is_removed(
    desk: Desk,
) -> None:
    base, second, third = _three_on_a_cut_base(desk)
    assert verify_snapshots(desk.context, desk.notify, [second, third]).bad == []
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(base,)))
    assert _problems(desk) == {}


def _three_on_a_cut_base(desk: Desk) -> tuple[str, str, str]:
    """The base lost its last byte, which nobody reads; the second has a file of its own, which the third lacks."""
    desk.write("work/big", os.urandom(1 << 20))
    base = str(desk.backup().snapshot)
    desk.write("work/only", "here")
    second = str(desk.backup().snapshot)
    (desk.work / "only").unlink()
    third = str(desk.backup().snapshot)
    archive = desk.place.archive(base)
    os.truncate(archive, archive.stat().st_size - 1)
    return base, second, third


def _problems(desk: Desk) -> dict[str, tuple[list[str], str]]:
    catalogue, verified = read_catalogue(desk.place), read_verified(desk.place)
    off = AutobackupShown(enabled=False, every_s=1800)
    said: dict[str, tuple[list[str], str]] = {}
    for one in store_problems(desk.place, [], catalogue, off, verified, now_s=0):
        snapshots, fixes = said.get(one.name, ([], ""))
        named = [snapshot for snapshot in desk.ids if snapshot in one.detail]
        said[one.name] = [*snapshots, *named], f"{fixes}{one.fix}"
    return said


def test_what_reads_only_whole_parts_of_a_cut_archive_is_found_sound_and_restored(
    desk: Desk, tmp_path: Path
) -> None:
    base, second, third = _three_on_a_cut_base(desk)
    problems = _problems(desk)
    damaged, fix = problems["snapshots.damaged"]
    assert base in damaged
    assert f"prune {base}` removes the damaged one" in fix
    perhaps, fix = problems["snapshots.doubtful"]
    assert {second, third} <= {*perhaps}
    assert "prune" not in fix
    full = str(desk.backup(full=True).snapshot)
    damaged, fix = _problems(desk)["snapshots.damaged"]
    assert fix.startswith(f"snapshot {full} has stored everything anew since; ")
    for snapshot in (second, third):
        with pytest.raises(PerhapsDamaged) as caught:
            desk.restore(snapshot, to=tmp_path / "x")
        assert f"verify {snapshot}`" in caught.value.shown_hint
    # As proposed, without the base.
    assert verify_snapshots(desk.context, desk.notify, [second, third]).bad == []
    assert list(_problems(desk)) == ["snapshots.damaged"]
    desk.restore(second, to=tmp_path / "second")
    assert (tmp_path / "second/work/only").read_text() == "here"
    desk.restore(third)
    assert newest_whole(read_catalogue(desk.place), read_verified(desk.place), before=third)
    assert [one.id for one in verify_snapshots(desk.context, desk.notify, []).bad] == [base]


def test_what_reads_the_missing_part_of_a_cut_archive_is_found_damaged(desk: Desk) -> None:
    base, second, _ = _three_on_a_cut_base(desk)
    archive = desk.place.archive(base)
    os.truncate(archive, archive.stat().st_size // 2)
    bad = [one.id for one in verify_snapshots(desk.context, desk.notify, [second]).bad]
    assert bad == [second]
    with pytest.raises(SnapshotDamaged):
        desk.restore(second)
    damaged, _ = _problems(desk)["snapshots.damaged"]
    assert {base, second} <= {*damaged}


def test_the_next_backup_after_such_a_restore_stores_everything_anew(
    desk: Desk, tmp_path: Path
) -> None:
    desk.write("work/big", os.urandom(1 << 20))
    _damage(desk, str(desk.backup().snapshot))
    with pytest.raises(SnapshotDamaged):
        desk.restore(to=tmp_path / "elsewhere")
    desk.write("work/README", "changed")
    assert desk.backup().kind == "full"


def test_a_dry_run_notes_nothing(desk: Desk, tmp_path: Path) -> None:
    snapshot = str(desk.backup().snapshot)
    archive = desk.place.archive(snapshot)
    content = bytearray(archive.read_bytes())
    content[-200] ^= 1  # in the index
    archive.write_bytes(content)
    with pytest.raises(SnapshotDamaged):
        desk.restore(to=tmp_path / "elsewhere", dry_run=True)
    assert read_verified(desk.place) == {}
    with pytest.raises(SnapshotDamaged):
        desk.restore(to=tmp_path / "elsewhere")
    assert snapshot in known_problems(read_catalogue(desk.place), read_verified(desk.place))


def test_where_nothing_can_be_noted_there_is_the_error_alone(desk: Desk, tmp_path: Path) -> None:
    desk.write("work/big", os.urandom(1 << 20))
    _damage(desk, str(desk.backup().snapshot))
    (desk.place.directory / "verified").write_text("in the way")
    with pytest.raises(SnapshotDamaged):
        desk.restore(to=tmp_path / "elsewhere")


def test_the_archive_of_another_snapshot_in_its_place_is_not_restored(
    desk: Desk, tmp_path: Path
) -> None:
    """It is whole, as large as the manifest says, and wrong."""
    desk.write("work/a", "one")
    first = str(desk.backup(full=True).snapshot)
    desk.write("work/a", "two")
    second = str(desk.backup(full=True).snapshot)
    content = desk.place.archive(second).read_bytes()
    desk.place.archive(first).write_bytes(content)
    manifest = read_catalogue(desk.place).by_id(first)
    sized = msgspec.structs.replace(manifest, archive_bytes=len(content))
    desk.place.manifest(first).write_bytes(encode_manifest(sized))
    with pytest.raises(SnapshotDamaged, match=f"the archive of another snapshot, {second}"):
        desk.restore(first, to=tmp_path / "x")
    with pytest.raises(SnapshotDamaged, match="another snapshot"):
        read_state(desk.place.archive(first), b"work/a")
    assert not (tmp_path / "x").exists()


def test_the_newest_whole_one_before_it_is_named(desk: Desk, tmp_path: Path) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "changed")
    second = str(desk.backup().snapshot)
    desk.place.archive(second).unlink()
    desk.write("work/README", "not saved")
    words = f"`scratchflow restore {first}` brings back the newest whole one before it (just now)"
    with pytest.raises(SnapshotDamaged) as caught:
        desk.restore()
    assert caught.value.shown_hint.endswith(f"; {words}")
    with pytest.raises(SnapshotDamaged) as caught:
        desk.restore(to=tmp_path / "elsewhere")
    assert caught.value.shown_hint.endswith(f"; with the same options, {words}")
    assert desk.restore(first).snapshot == first


def test_no_other_one_is_named_where_none_before_it_is_whole(desk: Desk) -> None:
    first = str(desk.backup(full=True).snapshot)
    desk.write("work/README", "changed")
    desk.backup(full=True)
    desk.place.archive(first).unlink()
    with pytest.raises(SnapshotDamaged) as caught:
        desk.restore(first)
    assert "brings back" not in caught.value.shown_hint
