"""Archives of our own format with forged indexes, every checksum right."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable

import msgspec
import pytest

from scratchflow.archive.format.container import FOOTER_BYTES
from scratchflow.archive.format.index_codec import Header
from scratchflow.archive.read import reader, verify
from scratchflow.archive.restore import extract
from scratchflow.archive.tree.index import NOWHERE, ArchiveFrames, Index
from scratchflow.archive.tree.names import PackedNames
from scratchflow.model.errors import SnapshotDamaged, TargetNotEmpty, UnsafeMember
from tests.hostile.archive.conftest import (
    Range,
    forge_frames,
    forge_index,
    good_archive,
    with_header,
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


def _swapped(header: Header, pieces: list[bytes]) -> tuple[Header, list[bytes]]:
    return header, [pieces[1], pieces[0], *pieces[2:]]


def _huge_claim(header: Header, pieces: list[bytes]) -> tuple[Header, list[bytes]]:
    claims = [(name, 8 << 20) for name, _ in header.pieces]
    return msgspec.structs.replace(header, pieces=claims), pieces


FORGED_FRAMES: dict[str, Callable[[Header, list[bytes]], tuple[Header | bytes, list[bytes]]]] = {
    "header-garbage": lambda _, pieces: (b"\xc1garbage", pieces),
    "header-empty": lambda _, pieces: (b"", pieces),
    "entries-huge": with_header(entries=1 << 62),
    "entries-negative": with_header(entries=-1),
    "entries-fewer": with_header(entries=3),
    "groups-zero": with_header(groups=0),
    "groups-huge": with_header(groups=1 << 40),
    "symlinks-negative": with_header(symlinks=-1),
    "symlinks-more": with_header(symlinks=5),
    "hardlinks-huge": with_header(hardlinks=1 << 40),
    "hardlinks-negative": with_header(hardlinks=-3),
    "archives-none": with_header(archives=[]),
    "frames-negative": with_header(archives=[("evil", -1)]),
    "frames-huge": with_header(archives=[("evil", 1 << 50)]),
    "unknown-digest": with_header(digest="crc8"),
    "pieces-missing": lambda header, pieces: (header, pieces[:-1]),
    "pieces-too-many": lambda header, pieces: (header, [*pieces, b"more"]),
    "pieces-swapped": _swapped,
    "pieces-garbage": lambda header, pieces: (header, [b"\xff" * 9 for _ in pieces]),
    "pieces-empty": lambda header, pieces: (header, [b"" for _ in pieces]),
    "claims-huge": _huge_claim,
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED_FRAMES)
def test_forged_index_frames_are_refused(shooting_range: Range, name: str) -> None:
    started = time.monotonic()
    forge_frames(shooting_range, FORGED_FRAMES[name])
    with pytest.raises(SnapshotDamaged):
        shooting_range.extract()
    assert time.monotonic() - started < 5
    assert verify.verify_archive(shooting_range.archive)
    shooting_range.assert_nothing_outside()


def test_exchanged_content_is_noticed_by_its_digest(shooting_range: Range) -> None:
    forge_index(shooting_range, lambda index: index.position.__setitem__(B, index.position[A]))
    with pytest.raises(SnapshotDamaged, match="digest"):
        shooting_range.extract()
    assert not (shooting_range.target / "work" / "b").exists()
    assert any(
        "where the index says" in p or "digest" in p
        for p in verify.verify_archive(shooting_range.archive)
    )


@pytest.mark.parametrize("position", range(8, FOOTER_BYTES, 7))
def test_damaged_footers_are_refused(shooting_range: Range, position: int) -> None:
    good_archive(shooting_range)
    content = bytearray(shooting_range.archive.read_bytes())
    content[-FOOTER_BYTES + position] ^= 0x40
    shooting_range.archive.write_bytes(content)
    with pytest.raises(SnapshotDamaged):
        reader.open_index(shooting_range.archive)


def test_existing_symlinks_in_the_target_are_not_followed(shooting_range: Range) -> None:
    good_archive(shooting_range)
    (shooting_range.target / "work").mkdir()
    (shooting_range.target / "work" / "d").symlink_to(shooting_range.home)
    with pytest.raises(TargetNotEmpty):
        shooting_range.extract()
    shooting_range.assert_nothing_outside()


def test_existing_files_in_the_target_are_not_overwritten(shooting_range: Range) -> None:
    good_archive(shooting_range)
    (shooting_range.target / "work").mkdir()
    (shooting_range.target / "work" / "b").write_bytes(b"mine")
    with pytest.raises(TargetNotEmpty):
        shooting_range.extract()
    assert (shooting_range.target / "work" / "b").read_bytes() == b"mine"


def test_target_may_be_a_descriptor(shooting_range: Range) -> None:
    good_archive(shooting_range)
    index = reader.open_index(shooting_range.archive)
    descriptor = os.open(shooting_range.target, os.O_RDONLY | os.O_DIRECTORY)
    extract.extract(index, lambda _: shooting_range.archive, descriptor, warn=shooting_range.warn)
    os.close(descriptor)
    assert (shooting_range.target / "work" / "d" / "e").read_bytes() == b"e" * 3000
