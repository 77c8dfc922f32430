"""Archives of our own format with forged indexes, every checksum right."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

import pytest

from scratchflow.archive.read import verify
from scratchflow.archive.tree.chunks import Chunks, in_one_piece
from scratchflow.archive.tree.index import NOWHERE, ArchiveFrames, Index
from scratchflow.archive.tree.names import PackedNames
from scratchflow.model.errors.snapshots import SnapshotDamaged, UnsafeMember
from tests.hostile.archive.conftest import (
    Range,
    forge_index,
)

# The entries of the good archive: work, a, b, d, l (a hardlink to a), s (a symlink), d/e.
WORK, A, B, D, LINK, SYMLINK, E = range(7)


def _rename(entry: int, name: bytes) -> Callable[[Index], object]:
    def change(index: Index) -> None:
        names = list(index.names)
        names[entry] = name
        index.names = PackedNames(names)

    return change


def _set(column: str, entry: int, value: int) -> Callable[[Index], object]:
    def change(index: Index) -> None:
        getattr(index, column)[entry] = value

    return change


def _targets(*targets: bytes) -> Callable[[Index], object]:
    return lambda index: setattr(index, "targets", PackedNames(targets))


def _shift(index: Index) -> None:
    index.children[1] -= 1
    index.children[2] += 1


def _endless_holes(index: Index) -> None:
    index.size[B] = 1 << 62
    index.sparse[B] = []


def _add_empty_frame(index: Index) -> None:
    index.archives[0].raw_ends.insert(0, 0)
    index.archives[0].packed_ends.insert(0, 1)


def _chunked(*chunks: tuple[int, int, int], entry: int = B) -> Callable[[Index], object]:
    """The file in chunks that lie anywhere: archive, how far behind its true place, length."""

    def change(index: Index) -> None:
        at = index.position[entry] if index.archive[entry] != NOWHERE else 0
        index.archive[entry], index.position[entry] = NOWHERE, 0
        index.chunks[entry] = Chunks(
            array("I", [length for _, _, length in chunks]),
            array("H", [number for number, _, _ in chunks]),
            array("Q", [at + behind for _, behind, _ in chunks]),
            bytes(16 * len(chunks)),
        )

    return change


def _chunks_of_a_large_file(index: Index) -> None:
    _chunked((0, 0, 1000), (0, 1000, 1000))(index)
    index.size[B] = 1 << 62


def _chunks_elsewhere(index: Index) -> None:
    index.chunks[B] = in_one_piece(array("I", [1000] * 2), bytes(32), 0, index.position[B] + 512)


def _chunk_digest_missing(index: Index) -> None:
    _chunked((0, 0, 1000), (0, 1000, 1000))(index)
    index.chunks[B].digests = bytes(16)


def _chunks_beside_a_place(index: Index) -> None:
    place = index.archive[B], index.position[B]
    _chunked((0, 1000, 1000), (0, 0, 1000))(index)
    index.archive[B], index.position[B] = place


def _chunks_of_no_entry(index: Index) -> None:
    _chunked((0, 0, 1000), (0, 1000, 1000))(index)
    index.chunks[500] = index.chunks.pop(B)


UNSAFE_NAMES = {
    "parent": b"..",
    "here": b".",
    "empty": b"",
    "slash": b"a/b",
    "absolute": b"/etc",
    "hidden-slash": b"a/../../x",
}


@pytest.mark.parametrize("name", UNSAFE_NAMES)
@pytest.mark.parametrize("entry", [WORK, A, E])
def test_unsafe_names_are_refused(shooting_range: Range, name: str, entry: int) -> None:
    forge_index(shooting_range, _rename(entry, UNSAFE_NAMES[name]))
    with pytest.raises(UnsafeMember):
        shooting_range.extract()
    assert list(shooting_range.target.iterdir()) == []
    shooting_range.assert_nothing_outside()


FORGED: dict[str, Callable[[Index], object]] = {
    "name-with-nul": _rename(A, b"a\0b"),
    "name-too-long": _rename(E, b"e" * 256),
    "name-twice": _rename(B, b"a"),
    "names-out-of-order": _rename(A, b"z"),
    "position-beyond": _set("position", B, 1 << 40),
    "position-wraps": _set("position", B, (1 << 64) - 1),
    "size-huge": _set("size", B, (1 << 64) - 1),
    "size-beyond": _set("size", E, 1 << 30),
    "archive-unknown": _set("archive", A, 7),
    "file-nowhere": _set("archive", A, NOWHERE),
    "directory-with-content": _set("archive", D, 0),
    "directory-with-size": _set("size", D, 5),
    "symlink-with-content": _set("archive", SYMLINK, 0),
    "device": _set("mode", A, 0o020666),
    "fifo": _set("mode", A, 0o010666),
    "kind-zero": _set("mode", A, 0o666),
    "file-becomes-directory": _set("mode", A, 0o040755),
    "directory-becomes-file": _set("mode", D, 0o100644),
    "file-becomes-symlink": _set("mode", B, 0o120777),
    "group-too-large": _set("children", 0, 4_000_000_000),
    "group-shifted": _shift,
    "target-empty": _targets(b""),
    "target-too-long": _targets(b"t" * 5000),
    "hardlink-to-nothing": lambda index: index.hardlinks.update({LINK: 99}),
    "hardlink-to-directory": lambda index: index.hardlinks.update({LINK: D}),
    "hardlink-to-symlink": lambda index: index.hardlinks.update({LINK: SYMLINK}),
    "hardlink-to-itself": lambda index: index.hardlinks.update({LINK: LINK}),
    "hardlink-in-a-ring": lambda index: index.hardlinks.update({LINK: A, A: LINK}),
    "hardlink-from-directory": lambda index: index.hardlinks.update({D: A}),
    "hardlink-of-other-size": lambda index: index.hardlinks.update({B: A}),
    "sparse-negative": lambda index: index.sparse.update({A: [-5, 10]}),
    "sparse-odd": lambda index: index.sparse.update({A: [1]}),
    "sparse-beyond": lambda index: index.sparse.update({A: [990, 20]}),
    "sparse-overlap": lambda index: index.sparse.update({A: [0, 10, 5, 10]}),
    "sparse-endless": _endless_holes,
    "sparse-of-nothing": lambda index: index.sparse.update({500: [0, 1]}),
    "sparse-of-directory": lambda index: index.sparse.update({D: [0, 1]}),
    "xattrs-of-nothing": lambda index: index.xattrs.update({500: {b"user.x": b""}}),
    "frame-of-no-length": _add_empty_frame,
    "frame-huge": lambda index: index.archives[0].raw_ends.__setitem__(-1, 1 << 50),
    "frames-backward": lambda index: index.archives[0].packed_ends.__setitem__(-1, 0),
    "archive-id-a-path": lambda index: setattr(index.archives[0], "id", "../../etc/passwd"),
    "archive-id-empty": lambda index: setattr(index.archives[0], "id", ""),
    "own-id-a-path": lambda index: setattr(index, "id", "a/b"),
    "archive-twice": lambda index: index.archives.append(ArchiveFrames("evil", array("Q", [1]), array("Q", [1]))),
    "chunks-too-few": _chunked((0, 0, 1000)),
    "chunks-too-many": _chunked((0, 0, 1000), (0, 1000, 1000), (0, 0, 1000)),
    "chunk-empty": _chunked((0, 0, 2000), (0, 0, 0)),
    "chunk-huge": _chunked((0, 0, (1 << 32) - 1)),
    "chunk-of-another-archive": _chunked((1, 0, 2000)),
    "chunk-nowhere": _chunked((NOWHERE, 0, 2000)),
    "chunk-beyond": _chunked((0, 1 << 40, 2000)),
    "chunk-wraps": _chunked((0, (1 << 63) - 1, 2000)),
    "chunks-overlap": _chunked((0, 0, 1000), (0, 500, 1000)),
    "chunks-overlap-from-one-start": _chunked((0, 0, 1500), (0, 0, 500)),
    "chunks-of-directory": _chunked((0, 0, 1), entry=D),
    "chunks-of-symlink": _chunked((0, 0, 1), entry=SYMLINK),
    "chunks-of-nothing": _chunks_of_no_entry,
    "chunks-of-2^62-bytes": _chunks_of_a_large_file,
    "chunks-elsewhere": _chunks_elsewhere,
    "chunks-beside-a-place": _chunks_beside_a_place,
    "chunk-digest-missing": _chunk_digest_missing,
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_indexes_are_refused(shooting_range: Range, name: str) -> None:
    started = time.monotonic()
    forge_index(shooting_range, FORGED[name])
    with pytest.raises((SnapshotDamaged, UnsafeMember)):
        shooting_range.extract()
    assert time.monotonic() - started < 5
    assert list(shooting_range.target.iterdir()) == []
    shooting_range.assert_nothing_outside()


def test_a_chunk_that_is_not_what_its_digest_says_is_found_by_verify(shooting_range: Range) -> None:
    forge_index(shooting_range, _chunked((0, 0, 1000), (0, 1000, 1000)))
    assert any("chunks" in p for p in verify.verify_archive(shooting_range.archive))


def test_exchanged_content_is_noticed_by_its_digest(shooting_range: Range) -> None:
    forge_index(shooting_range, lambda index: index.position.__setitem__(B, index.position[A]))
    with pytest.raises(SnapshotDamaged, match="digest"):
        shooting_range.extract()
    assert not (shooting_range.target / "work" / "b").exists()
    assert any(
        "where the index says" in p or "digest" in p
        for p in verify.verify_archive(shooting_range.archive)
    )
