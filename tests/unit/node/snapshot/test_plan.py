"""What a backup reads of the workspace."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.files.digest import digest_of_file
from scratchflow.archive.scan import reread
from scratchflow.archive.tree import chunks
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
