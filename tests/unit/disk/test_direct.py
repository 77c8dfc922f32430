"""Past the page cache where that works, through it where not: the bytes are the same."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.disk import direct
from scratchflow.disk.direct import BUFFER_BYTES, DirectAppend, DirectReader

CONTENT = os.urandom(2 * BUFFER_BYTES + 12_345)


@pytest.fixture(params=["as it is", "refused when asked", "refused when used"])
def descriptor(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[int]:
    """A file on a file system that goes past the cache, or not, or only says so."""
    if request.param == "refused when asked":
        monkeypatch.setattr(direct, "set_direct", lambda _descriptor, **_: False)
    elif request.param == "refused when used":
        _refuse_when_used(monkeypatch)
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT, 0o600)
    yield opened
    os.close(opened)


def _refuse_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    on: set[int] = set()

    def set_direct(descriptor: int, **wanted: bool) -> bool:
        (on.add if wanted["on"] else on.discard)(descriptor)
        return wanted["on"]

    def unless_direct(name: str) -> None:
        real = getattr(os, name)

        def call(descriptor: int, *given: object) -> object:
            if descriptor in on:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            return real(descriptor, *given)

        monkeypatch.setattr(os, name, call)

    monkeypatch.setattr(direct, "set_direct", set_direct)
    unless_direct("write")
    unless_direct("preadv")


def test_what_is_appended_in_pieces_of_any_size_is_read_back(descriptor: int) -> None:
    out = DirectAppend(descriptor)
    rest = memoryview(CONTENT)
    for size in (1, 511, 4096, BUFFER_BYTES - 7, 100_000, len(CONTENT)):
        out.append(rest[:size])
        rest = rest[size:]
        assert out.written_bytes == os.fstat(descriptor).st_size
    assert not rest
    out.flush()
    assert out.written_bytes == len(CONTENT)
    reader = DirectReader(descriptor)
    assert b"".join(map(bytes, reader.pieces(0, BUFFER_BYTES))) == CONTENT[:BUFFER_BYTES]
    tail = b"".join(map(bytes, reader.pieces(BUFFER_BYTES, len(CONTENT))))
    assert tail == CONTENT[BUFFER_BYTES:]


def test_a_file_that_is_shorter_than_asked_for_ends_where_it_ends(descriptor: int) -> None:
    os.write(descriptor, CONTENT[:1000])
    assert b"".join(map(bytes, DirectReader(descriptor).pieces(0, 5000))) == CONTENT[:1000]


def test_reading_may_begin_anywhere(descriptor: int) -> None:
    os.write(descriptor, CONTENT)
    read = b"".join(map(bytes, DirectReader(descriptor).pieces(777, BUFFER_BYTES + 1)))
    assert read == CONTENT[777 : BUFFER_BYTES + 1]


def test_a_full_disk_is_told_as_such(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = DirectAppend(descriptor)
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        out.append(memoryview(CONTENT))
