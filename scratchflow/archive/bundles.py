"""Shares the members of an archive out, in order, so that several processes can pack them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from scratchflow.archive.frame_sink import FRAME_BYTES
from scratchflow.archive.member_writer import Member
from scratchflow.archive.scan import ScannedTree
from scratchflow.archive.tar_headers import BLOCK
from scratchflow.archive.tree import KIND_MASK, REGULAR, SYMLINK

# What ustar holds without further ado; beyond that a pax header is needed, or may be.
_SHORT_NAME_BYTES = 100
_PAX_BYTES = 4 * BLOCK


class Bundle(msgspec.Struct, eq=False):
    """Members that follow each other; they fill one frame, unless it is one that needs several."""

    members: list[Member]
    fits_frame: bool = True


def bundles(scanned: ScannedTree, members: Iterable[Member]) -> Iterator[Bundle]:
    """All members in the same order. What is in a bundle is guessed from the scan: it may not fit."""
    modes, sizes, hardlinks = scanned.mode, scanned.size, scanned.hardlinks
    current: list[Member] = []
    room = FRAME_BYTES
    for member in members:
        entry, path = member[0], member[2]
        size = sizes[entry]
        if entry in hardlinks:
            needed = BLOCK + _PAX_BYTES
        elif modes[entry] & KIND_MASK == REGULAR:
            needed = BLOCK + size + -size % BLOCK
        else:  # a directory, or a symlink, whose target may be long
            needed = BLOCK
            if (
                modes[entry] & KIND_MASK == SYMLINK
                and len(scanned.target(entry)) > _SHORT_NAME_BYTES
            ):
                needed += _PAX_BYTES + len(scanned.target(entry))
        if len(path) >= _SHORT_NAME_BYTES:
            needed += _PAX_BYTES + len(path)
        if needed > room and current:
            yield Bundle(current)
            current, room = [], FRAME_BYTES
        if needed > room:
            yield Bundle([member], fits_frame=False)
        else:
            current.append(member)
            room -= needed
    if current:
        yield Bundle(current)
