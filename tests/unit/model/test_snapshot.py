"""A manifest whose bytes changed anywhere is refused, and an id is safe as a file name."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.snapshot import (
    Manifest,
    checked_manifest,
    encode_manifest,
    is_snapshot_id,
    seal_manifest,
    snapshot_id,
)
from scratchflow.testing.store import make_id, make_manifest

MANIFEST = make_manifest(make_id(), message='a "quoted" \n checksum": "x', unsaved_paths=["é"])
CONTENT = encode_manifest(MANIFEST)


def test_a_manifest_is_read_back_as_it_was_written() -> None:
    assert msgspec.json.decode(checked_manifest(CONTENT), type=Manifest) == MANIFEST


@given(place=st.integers(0, len(CONTENT) - 1), bit=st.integers(0, 7))
def test_one_flipped_bit_anywhere_shows(place: int, bit: int) -> None:
    changed = bytearray(CONTENT)
    changed[place] ^= 1 << bit
    with pytest.raises(ValueError, match="checksum"):
        checked_manifest(bytes(changed))


@given(st.integers(0, len(CONTENT) - 1))
def test_a_manifest_that_is_cut_anywhere_shows(length: int) -> None:
    with pytest.raises(ValueError, match="checksum"):
        checked_manifest(CONTENT[:length])


def test_keys_of_a_newer_version_are_sealed_too_and_passed_over() -> None:
    body = msgspec.json.decode(msgspec.json.encode(MANIFEST)) | {"later": {"x": [1]}}
    content = seal_manifest(msgspec.json.encode(body))
    assert msgspec.json.decode(checked_manifest(content), type=Manifest) == MANIFEST
    with pytest.raises(ValueError, match="checksum"):
        checked_manifest(content.replace(b'"x"', b'"y"'))


def test_ids_sort_by_time_whatever_the_zone() -> None:
    tokyo = timezone(timedelta(hours=9))
    first = snapshot_id(datetime(2026, 11, 15, 9, 0, tzinfo=tokyo), "ffffff")
    second = snapshot_id(datetime(2026, 11, 15, 1, 0, tzinfo=timezone.utc), "000000")
    assert first == "20261115T000000Z-ffffff"
    assert first < second
    assert is_snapshot_id(first)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "../20261115T000000Z-ffffff",
        "20261115T000000Z-ffffff\n",
        "20261115T000000Z-FFFFFF",
        "20261115T000000Z-ffffff.json",
        "\u0662\u0660261115T000000Z-ffffff",
    ],
)
def test_what_is_no_id_is_no_file_name_of_ours(text: str) -> None:
    assert not is_snapshot_id(text)
