"""What a backup reads twice, and when it stores everything anew."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.files.digest import digest_of_file
from scratchflow.archive.scan import reread
from scratchflow.archive.tree import chunks
from scratchflow.model.requests import Prune
from scratchflow.node.retention import prune_snapshots
from scratchflow.store.catalogue import read_catalogue
from tests.unit.conftest import Desk

MIB = 1 << 20


@pytest.fixture(autouse=True)
def small_files_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MIN_CHUNKED_BYTES", MIB)


def _kind_of_newest(desk: Desk) -> str:
    return read_catalogue(desk.place).snapshots[-1].kind


def test_a_large_file_that_changed_is_not_read_before_it_is_stored(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(2 * MIB)
    desk.write("work/large", content)
    desk.write("work/small", b"small")
    desk.backup()
    desk.write("work/large", b"new" + content[3:])
    desk.write("work/small", b"other")
    read: list[int] = []

    def noted(descriptor: int, seed: int, buffer: bytearray) -> bytes:
        read.append(os.fstat(descriptor).st_size)
        return digest_of_file(descriptor, seed, buffer)

    monkeypatch.setattr(reread, "digest_of_file", noted)
    monkeypatch.setattr(reread, "usable_cores", lambda: 1)
    desk.backup()
    assert 5 in read
    assert 2 * MIB not in read
    assert _kind_of_newest(desk) == "incremental"


def _mostly_dead(desk: Desk) -> str:
    """A history of which little is needed any more: the dead bytes are in the archive whose id is returned."""
    desk.write("work/large", os.urandom(2 * MIB))
    desk.backup()
    desk.write("work/gone", os.urandom(8 * MIB))
    desk.write("work/kept", os.urandom(MIB))
    dead = desk.backup().snapshot or ""
    (desk.scratch / "work/gone").unlink()
    desk.backup(allow_shrink=True, never_full=True)
    return dead


@pytest.mark.slow
def test_everything_is_stored_anew_when_most_of_what_is_kept_is_not_needed(desk: Desk) -> None:
    _mostly_dead(desk)
    desk.write("work/small", b"small")
    desk.backup()
    assert _kind_of_newest(desk) == "full"


@pytest.mark.slow
def test_what_prune_has_given_up_does_not_count(desk: Desk) -> None:
    dead = _mostly_dead(desk)
    size = desk.place.archive(dead).stat().st_size
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(dead,)))
    assert 0 < desk.place.archive(dead).stat().st_size < size / 4
    desk.write("work/small", b"small")
    desk.backup()
    assert _kind_of_newest(desk) == "incremental"
    assert dead in read_catalogue(desk.place).snapshots[-1].needs
