"""The digest of a file's content.

XXH3-128 hashes at memory speed, where SHA-256 would cost as much as the compression on processors
without instructions for it. It is seeded with a secret that stays in the store, so that nobody
who does not know the seed can craft two files that match. What must withstand somebody who can
write to the store is the SHA-256 of the whole archive in the manifest.
"""

from __future__ import annotations

import os

import xxhash

_READ_BYTES = 1 << 20
_ZEROS = bytes(1 << 16)

digest_of_bytes = xxhash.xxh3_128_digest  # (content, seed)
StreamDigest = xxhash.xxh3_128  # (seed=…): update(), digest()


def digest_of_file(descriptor: int, seed: int, buffer: bytearray) -> bytes:
    """The digest of an open file from its start to its end."""
    state = StreamDigest(seed=seed)
    view = memoryview(buffer)
    while got := os.readv(descriptor, [view]):
        state.update(view[:got])
    return state.digest()


def read_buffer() -> bytearray:
    """A buffer for `digest_of_file`, for use again and again."""
    return bytearray(_READ_BYTES)


def update_with_zeros(digest: StreamDigest, count: int) -> None:
    """As if a hole of so many bytes were content."""
    while count > 0:
        digest.update(_ZEROS[: min(count, len(_ZEROS))])
        count -= len(_ZEROS)
