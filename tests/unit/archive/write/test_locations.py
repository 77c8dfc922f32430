"""Notes of what was written reach the index unharmed, also by way of another process."""

from __future__ import annotations

import marshal
from array import array

from scratchflow.archive.tree.index import DIGEST_BYTES, NOWHERE, Index
from scratchflow.archive.write.locations import MemberNotes


def _notes() -> MemberNotes:
    notes = MemberNotes()
    notes.add(2, 512, b"2" * DIGEST_BYTES)
    notes.add(0, 2048, b"0" * DIGEST_BYTES)
    notes.files, notes.bytes = 2, 1234
    notes.xattrs[2] = {b"user.a": b"\xff"}
    notes.sparse[0] = [0, 4096]
    return notes


def _index(count: int) -> Index:
    index = Index("B")
    index.archive = array("H", [NOWHERE]) * count
    index.position = array("Q", bytes(8 * count))
    index.digest = bytearray(DIGEST_BYTES * count)
    return index


def test_what_another_process_noted_is_the_same() -> None:
    notes = _notes()
    again = MemberNotes.of(marshal.loads(marshal.dumps(notes.columns())))  # noqa: S302 - our own
    assert vars(again) == vars(notes)
    assert again.members == 2


def test_the_index_learns_places_counted_from_where_the_frame_begins() -> None:
    index = _index(3)
    _notes().enter(index, 7, 10_000)
    assert list(index.archive) == [7, NOWHERE, 7]
    assert list(index.position) == [12_048, 0, 10_512]
    digests = [index.digest_of(entry) for entry in range(3)]
    assert digests == [b"0" * DIGEST_BYTES, bytes(DIGEST_BYTES), b"2" * DIGEST_BYTES]
    assert (index.xattrs, index.sparse) == ({2: {b"user.a": b"\xff"}}, {0: [0, 4096]})


def test_what_was_entered_before_stays() -> None:
    index = _index(3)
    _notes().enter(index, 0, 0)
    more = MemberNotes()
    more.add(1, 5, b"1" * DIGEST_BYTES)
    more.enter(index, 1, 0)
    assert list(index.archive) == [0, 1, 0]
    assert len(index.digest) == 3 * DIGEST_BYTES
