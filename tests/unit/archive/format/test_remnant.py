"""The list of frames of an archive of which only a part is left."""

from __future__ import annotations

import hashlib
from array import array

import pytest

from scratchflow.archive.format.remnant import dump_frames, load_frames
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree.index import ArchiveFrames


def _load(content: bytes) -> ArchiveFrames:
    return load_frames(content, hashlib.sha256(content).digest())


def _frames(raw: list[int], packed: list[int]) -> ArchiveFrames:
    return ArchiveFrames("A", array("Q", raw), array("Q", packed))


def test_it_comes_back_as_it_was_also_with_frames_that_have_no_bytes() -> None:
    for frames in (_frames([], []), _frames([5, 9, 12], [0, 40, 40])):
        assert _load(dump_frames(frames)) == frames


@pytest.mark.parametrize(
    ("raw", "packed"),
    [
        ([5, 5], [1, 2]),
        ([5, 4], [1, 2]),
        ([5 << 20], [1]),
        ([5, 9], [2, 1]),
        ([5, 9], [2]),
    ],
)
def test_an_impossible_one_is_refused(raw: list[int], packed: list[int]) -> None:
    with pytest.raises(Malformed):
        _load(dump_frames(_frames(raw, packed)))


def test_every_flipped_bit_is_noticed() -> None:
    content = dump_frames(_frames([5, 9, 12], [0, 40, 40]))
    digest = hashlib.sha256(content).digest()
    for at in range(len(content)):
        with pytest.raises(Malformed):
            load_frames(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], digest)


@pytest.mark.parametrize("content", [b"", b"x", b"S*M\x18\x01\0\0\0\xc0", b"S*M\x18\0\0\0\0"])
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed):
        _load(content)
