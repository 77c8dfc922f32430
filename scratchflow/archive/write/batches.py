"""Shares the members of an archive out, in order, so that several processes can pack them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from scratchflow.archive.format.tar_headers import BLOCK, CHUNKS_DIRECTORY
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree import chunks
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.archive.write.member_writer import Member

# What ustar holds without further ado; beyond that a pax header is needed, or may be.
_SHORT_NAME_BYTES = 100
_PAX_BYTES = 4 * BLOCK
# Of what is left, a bundle takes this share at most: those who pack end at about the same time.
_MAX_SHARE = 6
_MIN_BUNDLE_BYTES = 512 << 10


class Bundle(msgspec.Struct, eq=False):
    """Members that follow each other; they fit into one frame, unless it is one that needs several.

    A file that may be stored in chunks is alone as well: whoever writes knows the others' chunks.
    """

    members: list[Member]
    fits_frame: bool = True


def bundles(
    scanned: ScannedTree, members: Iterable[Member], expected_bytes: int
) -> Iterator[Bundle]:
    """All members in the same order, which take about so many bytes together.

    What is in a bundle is guessed from the scan: it may not fit.
    """
    sizes = scanned.size
    links = {*scanned.hardlinks, *scanned.symlinks}
    current: list[Member] = []
    left = expected_bytes
    room = _room(left)
    alone = min(FRAME_BYTES, chunks.MIN_CHUNKED_BYTES)
    for member in members:
        entry, _, path, _ = member
        size = sizes[entry]  # none, of what is no file
        needed = BLOCK + size + -size % BLOCK
        if entry in links:
            needed = BLOCK + _link_bytes(scanned, entry)
        if len(path) >= _SHORT_NAME_BYTES:
            needed += _PAX_BYTES + len(path)
        if current and needed > min(room, alone):
            yield Bundle(current)
            current, room = [], _room(left)
        left -= needed
        if needed > alone:
            yield Bundle([member], fits_frame=False)
            room = _room(left)
        else:
            current.append(member)
            room -= needed
    if current:
        yield Bundle(current)


def large_files_of(scanned: ScannedTree, stored: Iterable[int]) -> list[int]:
    """Those of the files to be stored that are worth cutting into chunks, in the order of their members."""
    # The members that hold chunks must not have the name of a file.
    if any(os.fsencode(root + "/").startswith(CHUNKS_DIRECTORY) for root in scanned.roots):
        return []
    return [
        entry
        for entry in stored
        if scanned.size[entry] >= chunks.MIN_CHUNKED_BYTES
        and scanned.mode[entry] & KIND_MASK == REGULAR
        and entry not in scanned.hardlinks
    ]


def _room(left: int) -> int:
    return min(max(left // _MAX_SHARE, _MIN_BUNDLE_BYTES), FRAME_BYTES)


def _link_bytes(scanned: ScannedTree, entry: int) -> int:
    """What a link needs besides its header: what it leads to may be long."""
    if entry in scanned.hardlinks:
        return _PAX_BYTES
    target = scanned.target(entry)
    return _PAX_BYTES + len(target) if len(target) > _SHORT_NAME_BYTES else 0
