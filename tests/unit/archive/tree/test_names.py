"""Names in one buffer: what was put in comes out, and a damaged table is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree.names import PackedNames


@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"")), max_size=30))
def test_packed_names_hold_what_was_put_in(names: list[bytes]) -> None:
    packed = PackedNames()
    packed.extend(names[: len(names) // 2])
    for name in names[len(names) // 2 :]:
        packed.append(name)
    again = PackedNames.from_blob(bytes(packed.blob), len(names))
    for table in (packed, again):
        assert list(table) == names
        assert table.slice(0, len(names)) == names
        assert list(table.starts) == list(again.starts)


def test_names_beyond_one_piece_are_found_again() -> None:
    names = [b"%07d" % number + b"x" * 50 for number in range(60_000)]
    packed = PackedNames()
    packed.extend(names)
    again = PackedNames.from_blob(bytes(packed.blob), len(names))
    assert again.starts == packed.starts
    assert again[59_999] == names[-1]


@pytest.mark.parametrize(
    ("blob", "count"),
    [(b"a\0b", 1), (b"a\0b\0", 1), (b"a\0", 2), (b"", 1), (b"a", 0), (b"\0", 0), (b"a\0b\0c", 2)],
)
def test_a_table_that_does_not_hold_what_it_counts_is_refused(blob: bytes, count: int) -> None:
    with pytest.raises(Malformed):
        PackedNames.from_blob(blob, count)


def test_an_empty_table_and_empty_names_are_tables() -> None:
    assert list(PackedNames.from_blob(b"", 0)) == []
    assert list(PackedNames.from_blob(b"\0\0", 2)) == [b"", b""]
    assert PackedNames().slice(0, 0) == []


def test_tables_are_joined_and_compared_by_stretches() -> None:
    one, other = PackedNames([b"a", b"bc"]), PackedNames([b"bc", b"", b"d"])
    assert one.packed(1, 2) == other.packed(0, 1)
    assert one.packed(0, 1) != other.packed(0, 1)
    one.extend_packed(other)
    one.extend([])
    assert list(one) == [b"a", b"bc", b"bc", b"", b"d"]
    assert one.slice(2, 5) == [b"bc", b"", b"d"]


def test_a_name_that_no_file_system_allows_is_refused() -> None:
    blob = b"a" * 255 + b"\0" + b"b\0"
    assert list(PackedNames.from_blob(blob, 2, longest=255)) == [b"a" * 255, b"b"]
    with pytest.raises(Malformed, match="longer than a file system allows"):
        PackedNames.from_blob(b"b\0" + b"a" * 256 + b"\0", 2, longest=255)
