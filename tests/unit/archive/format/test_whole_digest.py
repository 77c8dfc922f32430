"""The digest of an archive tells its own kind, and is what `xxhsum` and `sha256sum` print."""

from __future__ import annotations

import hashlib

import pytest

from scratchflow.archive.format.whole_digest import (
    SHA256,
    XXH3,
    WholeDigest,
    may_be_sha256,
    pack_digest,
    unpack_digest,
)

# `printf abc | xxhsum -H2`
ABC = "06b05ab6733a618578af5f94892f3950"


def test_it_is_the_xxh3_of_all_bytes() -> None:
    digest = WholeDigest()
    digest.update(b"a")
    assert digest.text(b"bc") == f"xxh3:{ABC}"  # which are not taken
    digest.update(memoryview(b"bc"))
    assert digest.text() == f"xxh3:{ABC}"


def test_it_is_of_the_kind_of_what_it_is_compared_with() -> None:
    digest = WholeDigest(like="sha256:00")
    digest.update(b"abc")
    assert digest.text() == "sha256:" + hashlib.sha256(b"abc").hexdigest()
    assert WholeDigest(like=f"xxh3:{ABC}").text(b"abc") == f"xxh3:{ABC}"


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([], True),
        (["", ""], True),
        (["xxh3:1"], False),
        (["", "sha256:1"], True),
        (["xxh3:1", ""], False),
    ],
)
def test_a_sha256_is_made_only_where_it_may_be_needed(known: list[str], expected: bool) -> None:
    assert may_be_sha256(known) is expected


@pytest.mark.parametrize("kind", [XXH3, SHA256])
def test_either_kind_has_the_same_room_in_a_footer(kind: str) -> None:
    digest = WholeDigest(kind).text(b"abc")
    packed = pack_digest(digest, 32)
    assert len(packed) == 32
    assert unpack_digest(packed, kind) == digest
