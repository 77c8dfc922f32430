"""An archive says itself what it must hash to, and damage anywhere in it is noticed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.own_sha256 import ArchiveDigest, noted_sha256
from tests.unit.conftest import Desk


@pytest.fixture
def archive(desk: Desk) -> Path:
    return desk.place.archive(desk.backup().snapshot or "")


def digest_of(content: bytes, piece_bytes: int = 1000) -> ArchiveDigest:
    digest = ArchiveDigest()
    for at in range(0, len(content), piece_bytes):
        digest.update(content[at : at + piece_bytes])
    return digest


@pytest.mark.parametrize("piece_bytes", [50, 1000, 1 << 24])
def test_one_that_is_whole_matches_the_sha256_in_its_footer(
    archive: Path, piece_bytes: int
) -> None:
    content = archive.read_bytes()
    found = digest_of(content, piece_bytes)
    assert found.own_sha256 == noted_sha256(archive) != ""
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert found.size_bytes == len(content)


@pytest.mark.parametrize("at", [0, 5000, -105, -104, -1])
def test_a_byte_that_changed_anywhere_is_noticed(archive: Path, at: int) -> None:
    content = bytearray(archive.read_bytes())
    content[at] ^= 1
    assert digest_of(bytes(content)).own_sha256 == ""


@pytest.mark.parametrize("content", [b"", b"short", bytes(5000)])
def test_what_is_no_archive_has_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.tar.lz4"
    file.write_bytes(content)
    assert digest_of(content).own_sha256 == ""
    assert digest_of(content).sha256 == hashlib.sha256(content).hexdigest()
    with pytest.raises(Malformed):
        noted_sha256(file)
