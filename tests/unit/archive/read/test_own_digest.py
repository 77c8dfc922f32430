"""An archive says itself what it must hash to, and damage anywhere in it is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.archive.format.container import FOOTER_BYTES
from scratchflow.archive.format.whole_digest import SHA256, WholeDigest
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.own_digest import ArchiveDigest, footer_of
from scratchflow.testing.store import as_earlier
from tests.unit.conftest import Desk


@pytest.fixture
def archive(desk: Desk) -> Path:
    return desk.place.archive(desk.backup().snapshot or "")


def digest_of(
    content: bytes, piece_bytes: int = 1000, known: tuple[str, ...] = ()
) -> ArchiveDigest:
    digest = ArchiveDigest(known)
    for at in range(0, len(content), piece_bytes):
        digest.update(content[at : at + piece_bytes])
    return digest


@pytest.mark.parametrize("piece_bytes", [50, 1000, 1 << 24])
def test_one_that_is_whole_matches_the_digest_in_its_footer(
    archive: Path, piece_bytes: int
) -> None:
    content = archive.read_bytes()
    found = digest_of(content, piece_bytes)
    assert found.own_digest == footer_of(archive).content_digest
    assert found.digest == WholeDigest().text(content)
    assert found.size_bytes == len(content)


@pytest.mark.parametrize("at", [0, 5000, -105, -104, -1])
def test_a_byte_that_changed_anywhere_is_noticed(archive: Path, at: int) -> None:
    content = bytearray(archive.read_bytes())
    content[at] ^= 1
    assert digest_of(bytes(content)).own_digest == ""


@pytest.mark.parametrize("known", [True, False])
def test_one_of_an_earlier_version_has_its_sha256(
    desk: Desk, archive: Path, *, known: bool
) -> None:
    as_earlier(desk.place, archive.name.removesuffix(".tar.lz4"))
    content = archive.read_bytes()
    expected = WholeDigest(SHA256).text(content)
    found = digest_of(content, known=(expected,) if known else ())
    assert (found.digest, found.own_digest) == (expected, footer_of(archive).content_digest)
    assert found.own_digest == WholeDigest(SHA256).text(content[:-FOOTER_BYTES])


def test_one_of_an_earlier_version_is_not_taken_for_another(desk: Desk, archive: Path) -> None:
    other = WholeDigest().text(b"other")
    as_earlier(desk.place, archive.name.removesuffix(".tar.lz4"))
    found = digest_of(archive.read_bytes(), known=(other,))
    assert (found.own_digest, found.digest == other) == ("", False)


@pytest.mark.parametrize("content", [b"", b"short", bytes(5000)])
def test_what_is_no_archive_has_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.tar.lz4"
    file.write_bytes(content)
    assert digest_of(content).own_digest == ""
    assert digest_of(content).digest == WholeDigest().text(content)
    with pytest.raises(Malformed):
        footer_of(file)
