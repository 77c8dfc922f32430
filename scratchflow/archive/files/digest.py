"""The digest of a file's content.

XXH3-128 hashes at memory speed, where SHA-256 would cost as much as the compression on processors
without instructions for it. It is seeded with a secret that stays in the store, so that nobody
who does not know the seed can craft two files that match.
"""

from __future__ import annotations

import os

import xxhash

from scratchflow.archive.files.holes import data_extents

_READ_BYTES = 1 << 20
_ZEROS = bytes(1 << 16)

digest_of_bytes = xxhash.xxh3_128_digest  # (content, seed)
StreamDigest = xxhash.xxh3_128  # (seed=…): update(), digest()


def digest_of_file(descriptor: int, seed: int, buffer: bytearray) -> bytes:
    """The digest of an open file from its start to its end. Holes are not read: they are zeros."""
    before = os.fstat(descriptor)
    extents = data_extents(descriptor, before)
    if extents is not None:
        digest = _digest_around_holes(descriptor, seed, buffer, extents, before.st_size)
        # A write may have filled a hole meanwhile, or made the file longer: then it is read as it is now.
        if _stamps(os.fstat(descriptor)) == _stamps(before):
            return digest
    if before.st_size:
        os.lseek(descriptor, 0, os.SEEK_SET)  # looking for holes moves the position
    state = StreamDigest(seed=seed)
    view = memoryview(buffer)
    while got := os.readv(descriptor, [view]):
        state.update(view[:got])
    return state.digest()


def _digest_around_holes(
    descriptor: int, seed: int, buffer: bytearray, extents: list[int], size: int
) -> bytes:
    state = StreamDigest(seed=seed)
    view, at = memoryview(buffer), 0
    for start, length in zip(extents[::2], extents[1::2], strict=True):
        update_with_zeros(state, start - at)
        at = start
        while at < start + length:
            got = os.preadv(descriptor, [view[: start + length - at]], at)
            if not got:  # it became shorter: its stamps tell
                return b""
            state.update(view[:got])
            at += got
    update_with_zeros(state, size - at)
    return state.digest()


def _stamps(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def read_buffer() -> bytearray:
    """A buffer for `digest_of_file`, for use again and again."""
    return bytearray(_READ_BYTES)


def update_with_zeros(digest: StreamDigest, count: int) -> None:
    """As if a hole of so many bytes were content."""
    while count > 0:
        digest.update(_ZEROS[: min(count, len(_ZEROS))])
        count -= len(_ZEROS)
