"""Content is cut where it says so itself: what moved is cut in the same way again."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import accumulate

import pytest

from scratchflow.archive.files import chunker
from scratchflow.archive.files.chunker import (
    CHUNK_BYTES,
    MAX_CHUNK_BYTES,
    MIN_CHUNK_BYTES,
    ContentCutter,
    Window,
    cut_blocks,
    cut_windows,
    cutter_at_content,
)
from scratchflow.archive.files.digest import digest_of_bytes

SEED = 99
WINDOW_BYTES = 4 << 20


def _windows(
    content: bytes, cutter: chunker.Cutter | None, total: int | None = None
) -> Iterator[Window]:
    """Content that comes a few bytes at a time, by way of one buffer that is used again and again."""
    file = io.BytesIO(content)
    buffer = memoryview(bytearray(WINDOW_BYTES))
    total = len(content) if total is None else total
    return cut_windows(
        lambda room: file.readinto(room[:70_001]), total, SEED, lambda: buffer, cutter
    )


def _cut(content: bytes, cutter: chunker.Cutter | None = None) -> list[bytes]:
    """The chunks; each has the digest that it should have."""
    chunks = []
    for window in _windows(content, cutter):
        ends = list(accumulate(window.lengths))
        whole = bytes(window.content)
        assert ends[-1] == len(whole)
        parts = [whole[end - size : end] for end, size in zip(ends, window.lengths, strict=True)]
        assert b"".join(digest_of_bytes(part, SEED) for part in parts) == window.digests
        chunks += parts
    return chunks


def _random(count: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(count)  # noqa: S311 - the same in every run


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 1000, 300_000, 8 << 20, (8 << 20) + 1, 21_000_001])
@pytest.mark.parametrize("cutter", [None, cut_blocks])
def test_chunks_make_up_the_content(size: int, cutter: chunker.Cutter | None) -> None:
    content = _random(size)
    chunks = _cut(content, cutter)
    assert b"".join(chunks) == content
    assert max(map(len, chunks)) <= MAX_CHUNK_BYTES
    assert all(len(chunk) >= MIN_CHUNK_BYTES for chunk in chunks[:-1])


@pytest.mark.slow
def test_content_is_cut_the_same_in_windows_as_in_one() -> None:
    content = _random(40_000_000) + bytes(5_000_000) + _random(9_000_000, seed=2)
    assert [len(one) for one in _cut(content)] == cutter_at_content()(memoryview(content))


@pytest.mark.slow
@pytest.mark.parametrize("start", [0, 5_000_000, 16 << 20])
def test_an_insertion_changes_only_the_chunks_around_it(start: int) -> None:
    content = _random(30_000_000)
    before = set(_cut(content))
    after = _cut(content[:start] + b"inserted" * 13 + content[start:])
    assert len([one for one in after if one not in before]) <= 3


def test_blocks_find_what_did_not_move() -> None:
    content = bytearray(_random(12_000_000))
    before = set(_cut(bytes(content), cut_blocks))
    content[CHUNK_BYTES * 3 : CHUNK_BYTES * 3 + 5] = b"other"
    after = _cut(bytes(content) + b"appended", cut_blocks)
    assert len([one for one in after if one not in before]) == 2


def test_content_that_ends_early_has_no_last_window() -> None:
    content = _random(WINDOW_BYTES + 5)
    windows = [bytes(one.content) for one in _windows(content, None, total=len(content) + 1)]
    assert len(windows) == 1
    assert content.startswith(windows[0])


def test_without_the_library_blocks_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyfastcdc", None)
    assert {len(one) for one in _cut(_random(10_000_000))[:-1]} == {CHUNK_BYTES}


@pytest.mark.parametrize("size", [1, 4 << 20, (4 << 20) + 1, 15_000_000])
@pytest.mark.parametrize("each", [70_001, 5_000_000])
@pytest.mark.parametrize("cutter", [None, cut_blocks])
def test_what_passes_by_is_cut_as_if_it_were_read(
    size: int, each: int, cutter: chunker.Cutter | None
) -> None:
    content = _random(size)
    passing = ContentCutter(SEED, cutter)
    for at in range(0, size, each):
        passing.update(memoryview(content)[at : at + each])
    passing.finish()
    windows = list(_windows(content, cutter))
    assert passing.lengths.tolist() == [length for one in windows for length in one.lengths]
    assert passing.digests == b"".join(one.digests for one in windows)


@pytest.mark.slow
def test_pieces_that_end_anywhere_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("MIN_CHUNK_BYTES", 256), ("CHUNK_BYTES", 256), ("MAX_CHUNK_BYTES", 1024)):
        monkeypatch.setattr(chunker, name, size)
    content = memoryview(_random(300_000))
    whole = cutter_at_content()(content)
    for each in range(300, 1100, 7):
        passing = ContentCutter(SEED)
        for at in range(0, len(content), each):
            passing.update(content[at : at + each])
        passing.finish()
        assert passing.lengths.tolist() == whole


def _in_a_new_interpreter(code: str) -> str:
    pytest.importorskip("pyfastcdc")
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


_LOAD = """
import sys
sys.modules["typing_extensions"] = None
import msgspec
del sys.modules["typing_extensions"]
from scratchflow.archive.files.chunker import cutter_at_content
{before}
print(cutter_at_content()(b"x"), "typing_extensions" in sys.modules)
"""


def test_what_cuts_at_content_is_loaded_without_what_it_does_not_need() -> None:
    assert _in_a_new_interpreter(_LOAD.format(before="")) == "[1] False"


def test_a_version_that_needs_more_gets_it() -> None:
    lacks = "from scratchflow.archive.files import chunker; chunker.typing = type(sys)('lacks all')"
    assert _in_a_new_interpreter(_LOAD.format(before=lacks)) == "[1] True"
