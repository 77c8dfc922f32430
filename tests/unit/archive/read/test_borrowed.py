"""What a snapshot reads from other archives is checked byte for byte, and nothing else of them is."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.read.borrowed import verify_borrowed
from scratchflow.archive.read.proven import Proven
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.archive_out import FRAME_BYTES
from tests.unit.archive.conftest import Bench


@pytest.fixture
def incremental(bench: Bench) -> Index:
    """A snapshot that needs two files of the one before, and not the third."""
    (bench.work / "a-unneeded").write_bytes(os.urandom(2 * FRAME_BYTES))
    (bench.work / "needed").write_bytes(os.urandom(2 * FRAME_BYTES))
    (bench.work / "small").write_bytes(os.urandom(1000))
    first = bench.backup("A")
    (bench.work / "a-unneeded").unlink()
    (bench.work / "new").write_bytes(b"new")
    return bench.backup("B", first)


def _damage(bench: Bench, path: bytes, offset: int = 0) -> None:
    """Changes a byte of what is stored for a file: random bytes are stored as they are."""
    content = bytearray(bench.path("A").read_bytes())
    stored = (bench.work / os.fsdecode(path).removeprefix("work/")).read_bytes()
    at = content.find(stored[offset : offset + 500])
    assert at > 0
    content[at] ^= 1
    bench.path("A").write_bytes(content)


@pytest.mark.slow
def test_a_sound_history_has_no_problems(bench: Bench, incremental: Index) -> None:
    assert verify_borrowed(incremental, bench.path) == []
    assert verify_borrowed(incremental, bench.path, Proven(bench.path, ["A"])) == []


@pytest.mark.slow
@pytest.mark.parametrize(("path", "offset"), [(b"work/small", 0), (b"work/needed", 5_000_000)])
def test_one_changed_byte_of_what_is_needed_is_found(
    bench: Bench, incremental: Index, path: bytes, offset: int
) -> None:
    _damage(bench, path, offset)
    assert len(verify_borrowed(incremental, bench.path)) == 1


@pytest.mark.slow
def test_damage_that_no_file_of_the_snapshot_needs_is_none(
    bench: Bench, incremental: Index
) -> None:
    content = bytearray(bench.path("A").read_bytes())
    content[FRAME_BYTES // 2] ^= 1  # within the file that is gone
    bench.path("A").write_bytes(content)
    assert verify_borrowed(incremental, bench.path) == []


@pytest.mark.slow
def test_an_archive_that_is_gone_is_a_problem_also_when_it_was_verified_before(
    bench: Bench, incremental: Index
) -> None:
    bench.path("A").unlink()
    assert len(verify_borrowed(incremental, bench.path)) == 1
    assert len(verify_borrowed(incremental, bench.path, Proven(bench.path, ["A"]))) == 1


@pytest.mark.slow
def test_another_archive_in_its_place_is_read_though_its_name_was_verified(
    bench: Bench, incremental: Index
) -> None:
    (bench.work / "small").write_bytes(b"something else")
    other = bench.backup("C")
    assert other.seed != incremental.seed
    bench.path("A").write_bytes(bench.path("C").read_bytes())
    assert verify_borrowed(incremental, bench.path, Proven(bench.path, ["A"]))
