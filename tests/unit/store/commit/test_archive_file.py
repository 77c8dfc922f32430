"""The file of a new archive: nothing before the first byte, durable and proven at the end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import NoSpace, StoreUnusable
from scratchflow.store.commit.archive_file import ArchiveFile


def test_nothing_is_made_before_the_first_byte(tmp_path: Path) -> None:
    file = ArchiveFile(tmp_path / "temp")
    assert file.write(b"") == 0
    file.finish()
    file.abandon()
    assert not file.exists
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="nothing was written"):
        file.require_read_back("A", WholeDigest().text())


def test_what_was_written_in_any_pieces_is_there_and_reads_back(tmp_path: Path) -> None:
    file = ArchiveFile(tmp_path / "temp")
    content = os.urandom(3_000_001)
    for start in range(0, len(content), 700_000):
        assert file.tell() == start
        file.write(memoryview(content)[start : start + 700_000])
    file.finish()
    file.finish()
    file.require_read_back("A", WholeDigest().text(content))
    assert (tmp_path / "temp").read_bytes() == content
    assert stat.S_IMODE((tmp_path / "temp").stat().st_mode) == 0o600
    with pytest.raises(ValueError, match="after the end"):
        file.write(b"more")
    file.abandon()
    assert os.listdir(tmp_path) == []


def test_a_byte_that_changed_on_disk_is_damage(tmp_path: Path) -> None:
    file = ArchiveFile(tmp_path / "temp")
    file.write(b"as it was")
    file.finish()
    (tmp_path / "temp").write_bytes(b"as it waz")
    with pytest.raises(SnapshotDamaged):
        file.require_read_back("A", WholeDigest().text(b"as it was"))
    file.abandon()


@pytest.mark.parametrize("what", ["file", "link"])
def test_what_has_the_name_already_is_neither_written_nor_removed(
    tmp_path: Path, what: str
) -> None:
    temp = tmp_path / "temp"
    temp.write_text("theirs") if what == "file" else temp.symlink_to("nowhere")
    file = ArchiveFile(temp)
    with pytest.raises(StoreUnusable):
        file.write(b"ours")
    file.abandon()
    assert os.path.lexists(temp)
    assert not (tmp_path / "nowhere").exists()


def test_a_full_store_is_told_as_that_and_leaves_no_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    file = ArchiveFile(tmp_path / "temp")
    file.write(b"x")

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NoSpace):
        file.finish()
    file.abandon()
    assert len(os.listdir("/proc/self/fd")) == before
    assert os.listdir(tmp_path) == []
