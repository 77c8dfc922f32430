"""A file on disk is compared by its bytes, whatever its stamps say."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.compare.on_disk import OnDisk
from tests.unit.archive.conftest import Bench


def test_content_and_stamps_are_told_apart(bench: Bench) -> None:
    path = bench.work / "file"
    path.write_bytes(b"content")
    index = bench.backup("A")
    entry = next(one for one in range(len(index)) if index.path(one) == b"work/file")
    on_disk = OnDisk(index, os.fsencode(bench.scratch))
    stamps = path.stat()
    assert on_disk.has_content(entry)
    assert on_disk.has_stamps(entry)
    path.write_bytes(b"CONTENT")  # as long, and as old
    os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    assert not on_disk.has_content(entry)
    assert on_disk.has_stamps(entry)
    path.write_bytes(b"content")
    path.chmod(0o700)
    assert on_disk.has_content(entry)
    assert not on_disk.has_stamps(entry)
    path.unlink()
    path.symlink_to("file")
    assert not on_disk.has_content(entry)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        on_disk.has_content(entry)
