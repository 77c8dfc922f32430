"""Snapshots whose archives have a SHA-256, as earlier versions wrote them, are as good as others, and mix with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.archive.format.whole_digest import SHA256, XXH3
from scratchflow.archive.read.own_digest import footer_of
from scratchflow.model.requests import Prune
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.retention import prune_snapshots
from scratchflow.node.transfer.transfer import export_snapshot
from scratchflow.store.catalogue import read_catalogue
from scratchflow.testing.store import as_earlier
from tests.unit.conftest import Desk
from tests.unit.node.history.test_verification import bad, noise


@pytest.fixture
def mixed(desk: Desk) -> Desk:
    """A full snapshot and an incremental of earlier versions, then one of this version."""
    desk.write("work/large", noise(0, 9_000_000))
    desk.write("work/kept", "kept")
    desk.backup()
    desk.write("work/changing", "1")
    desk.backup()
    for one in desk.ids:
        as_earlier(desk.place, one)
    desk.write("work/changing", "2")
    desk.write("work/large", noise(0, 9_000_000) + b"more")
    desk.backup()
    return desk


def test_they_are_listed_with_their_own_kind_of_digest(mixed: Desk) -> None:
    found = read_catalogue(mixed.place)
    assert (found.skipped, dict(found.damaged)) == ((), {})
    kinds = [one.archive_digest.partition(":")[0] + ":" for one in found.snapshots]
    assert kinds == [SHA256, SHA256, XXH3]
    assert [one.kind for one in found.snapshots] == ["full", "incremental", "incremental"]


def test_they_verify_and_damage_is_noticed(mixed: Desk) -> None:
    first, second, third = mixed.ids
    assert verify_snapshots(mixed.context, mixed.notify, []).bad == []
    content = bytearray(mixed.place.archive(second).read_bytes())
    content[100] ^= 1
    mixed.place.archive(second).write_bytes(content)
    assert set(bad(mixed)) == {second}
    content = bytearray(mixed.place.archive(first).read_bytes())
    content[5_000_000] ^= 1
    mixed.place.archive(first).write_bytes(content)
    assert set(bad(mixed)) == {first, second, third}


def test_another_archive_in_its_place_is_noticed(mixed: Desk) -> None:
    first, second, third = mixed.ids
    mixed.place.archive(second).write_bytes(mixed.place.archive(third).read_bytes())
    assert second in bad(mixed)
    mixed.place.archive(third).write_bytes(mixed.place.archive(first).read_bytes())
    assert third in bad(mixed)


def test_they_restore_and_export(mixed: Desk, tmp_path: Path) -> None:
    first, second, third = mixed.ids
    mixed.restore(third, to=tmp_path / "third")
    assert mixed.content(tmp_path / "third/work") == mixed.content()
    mixed.restore(second, to=tmp_path / "second")
    assert (tmp_path / "second/work/changing").read_text() == "1"
    for number, one in enumerate((first, second)):
        file = tmp_path / f"{number}.tar.lz4"
        export_snapshot(mixed.context, mixed.notify, one, file, dry_run=False)
        assert footer_of(file).content_digest
    content = bytearray(mixed.place.archive(first).read_bytes())
    content[5_000_000] ^= 1
    mixed.place.archive(first).write_bytes(content)
    with pytest.raises(Exception, match="does not match the digest in its manifest"):
        export_snapshot(mixed.context, mixed.notify, first, tmp_path / "x", dry_run=False)


def test_what_is_left_of_one_is_read_and_rewritten(mixed: Desk, tmp_path: Path) -> None:
    """One that an earlier version rewrote, and one that this version does."""
    first = mixed.ids[0]
    mixed.write("work/large", noise(0, 1_000_000) + noise(5, 8_000_000))
    mixed.backup(allow_shrink=True)
    prune_snapshots(mixed.context, mixed.notify, Prune(snapshots=tuple(mixed.ids[:3])))
    footer = footer_of(mixed.place.archive(first))
    assert footer.is_remnant
    assert footer.content_digest.startswith(XXH3)
    assert bad(mixed) == {}
    as_earlier(mixed.place, first)
    assert footer_of(mixed.place.archive(first)).version == 3
    assert bad(mixed) == {}
    mixed.restore(to=tmp_path / "restored")
    assert mixed.content(tmp_path / "restored/work") == mixed.content()
