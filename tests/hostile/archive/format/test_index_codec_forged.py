"""The frames of an index, forged with every checksum right: refused before they cost memory or time."""

from __future__ import annotations

import time
from collections.abc import Callable

import lz4.block
import msgspec
import pytest

from scratchflow.archive.format.index_codec import Header
from scratchflow.archive.read import verify
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.hostile.archive.conftest import (
    Range,
    forge_frames,
    with_header,
)


def _swapped(header: Header, pieces: list[bytes]) -> tuple[Header, list[bytes]]:
    return header, [pieces[1], pieces[0], *pieces[2:]]


def _huge_claim(header: Header, pieces: list[bytes]) -> tuple[Header, list[bytes]]:
    claims = [(name, 8 << 20) for name, _ in header.pieces]
    return msgspec.structs.replace(header, pieces=claims), pieces


def _nameless_target(header: Header, pieces: list[bytes]) -> tuple[Header, list[bytes]]:
    """A target that no symlink counts, and without its end."""
    number = [name for name, _ in header.pieces].index("targets")
    claims = [*header.pieces[:number], ("targets", 1), *header.pieces[number + 1 :]]
    forged = lz4.block.compress(b"x", store_size=False)
    changed = msgspec.structs.replace(header, symlinks=0, pieces=claims)
    return changed, [*pieces[:number], forged, *pieces[number + 1 :]]


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
    "target-without-end": _nameless_target,
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
