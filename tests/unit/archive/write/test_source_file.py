"""A file as it is about to be stored: is it still one, did it change, and what does its header say."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from scratchflow.archive.format.tar_headers import sparse_map
from scratchflow.archive.write.source_file import (
    SourceError,
    file_header,
    stats_of_file,
    still_the_same,
)


def test_what_is_no_file_is_an_error_of_the_source(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/null")):
        descriptor = os.open(path, os.O_RDONLY)
        with pytest.raises(SourceError, match="no longer a file"):
            stats_of_file(descriptor)
        os.close(descriptor)
    with pytest.raises(SourceError) as caught:
        stats_of_file(descriptor)
    assert isinstance(caught.value.cause, OSError)


@pytest.mark.parametrize("change", ["append", "same length", "mode", "time"])
def test_any_change_is_noticed(tmp_path: Path, change: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    os.utime(path, ns=(0, 1))
    with path.open("r+b") as file:
        before = stats_of_file(file.fileno())
        assert still_the_same(before, stats_of_file(file.fileno()))
        if change == "append":
            os.pwrite(file.fileno(), b"more", 6)
        elif change == "same length":
            os.pwrite(file.fileno(), b"after!", 0)
        elif change == "mode":
            path.chmod(0o400)
        else:
            os.utime(path, ns=(0, 2))
        after = stats_of_file(file.fileno())
    if change == "mode" and after.st_ctime_ns == before.st_ctime_ns:
        pytest.skip("within one tick of the file system's clock")
    assert not still_the_same(before, after)


def _read(header: bytes, content: bytes) -> tarfile.TarInfo:
    stream = io.BytesIO(header + content + bytes(-len(content) % 512 + 1024))
    with tarfile.open(fileobj=stream) as tar:
        (member,) = tar.getmembers()
    return member


@pytest.mark.parametrize("seconds", [0, 1_700_000_000, -5, 2**33 + 1])
def test_python_reads_the_header_as_it_was_meant(tmp_path: Path, seconds: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    path.chmod(0o751)
    os.utime(path, (seconds, seconds))
    stats = path.stat()
    name = b"work/" + b"n" * 200
    member = _read(file_header(name, stats, {b"user.a": b"1"}, b"", 7), b"content")
    assert (member.name.encode(), member.size, member.mode) == (name, 7, 0o751)
    assert member.pax_headers["SCHILY.xattr.user.a"] == "1"
    assert (member.uid, member.gid) == (stats.st_uid, stats.st_gid)
    assert member.mtime == int(stats.st_mtime)


def test_a_file_with_holes_is_told_as_one_under_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(1 << 20)
    prefix = sparse_map(1 << 20, [4096, 3])
    header = file_header(b"work/sparse", path.stat(), {}, prefix, 3)
    member = _read(header, prefix + b"abc")
    assert member.name == "work/sparse"
    assert member.size == 1 << 20
    assert member.sparse == [(4096, 3), (1 << 20, 0)]  # type: ignore[comparison-overlap]  # typeshed is wrong
