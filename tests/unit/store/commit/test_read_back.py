"""What the store holds is read behind the writer: the digest is that of the disk, not of the memory."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.store.commit import read_back
from scratchflow.store.commit.read_back import ReadBack


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_back, "PIECE_BYTES", 1 << 16)


def _digest(content: bytes) -> str:
    return WholeDigest().text(content)


@pytest.mark.parametrize("size", [1, 1 << 16, (1 << 20) + 7])
def test_the_digest_is_that_of_the_file(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    path = tmp_path / "archive"
    path.touch()
    behind = ReadBack(path)
    with path.open("wb") as file:
        for start in range(0, size, 50_000):
            file.write(content[start : start + 50_000])
            file.flush()
            behind.note_written(min(start + 50_000, size))
    assert behind.finish(size) == _digest(content)
    behind.close()
    behind.close()  # harmless when repeated


def test_without_a_thread_all_is_read_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    content = os.urandom(300_000)
    path = tmp_path / "archive"
    path.write_bytes(content)
    behind = ReadBack(path)
    behind.note_written(100_000)
    behind.note_written(300_000)
    assert behind.finish(300_000) == _digest(content)
    behind.close()


def test_a_file_that_is_shorter_than_what_was_written_is_told_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_bytes(b"only a part")
    behind = ReadBack(path)
    assert behind.finish(1000) == _digest(b"only a part") != _digest(b"only a part".ljust(1000))
    behind.close()


def test_a_file_that_was_renamed_is_still_the_one_that_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_bytes(b"ours")
    behind = ReadBack(path)
    path.rename(tmp_path / "final")
    path.write_bytes(b"else")
    assert behind.finish(4) == _digest(b"ours")
    behind.close()


def test_an_error_behind_the_writers_back_comes_up_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(read_back, "_make_durable", fails)
    path = tmp_path / "archive"
    path.write_bytes(bytes(1 << 17))
    behind = ReadBack(path)
    behind.note_written(1 << 17)
    assert behind._thread
    behind._thread.join()  # it ends with the error
    with pytest.raises(OSError, match="Input/output"):
        behind.finish(1 << 17)
    behind.close()


def test_closing_early_ends_the_thread_and_the_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_bytes(bytes(1 << 17))
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    behind = ReadBack(path)
    behind.note_written(1 << 17)
    behind.close()
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "archive").symlink_to("real")
    with pytest.raises(OSError, match="symbolic links"):
        ReadBack(tmp_path / "archive")
