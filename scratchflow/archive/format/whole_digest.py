"""The digest of a whole archive, by which it is compared with what was written: `xxh3:` and its XXH3-128 in hex.

Archives of earlier versions have a SHA-256 instead (`sha256:`), which costs as much as compressing them on processors
without instructions for it (236 MB/s on one of them, against 9 GB/s), and again wherever one is read. Neither withstands somebody who may
write to the store: the manifest that holds it lies there, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import xxhash

XXH3 = "xxh3:"
SHA256 = "sha256:"


class WholeDigest:
    """Of bytes that come in their order; of the same kind as a digest that it is to be compared with."""

    def __init__(self, like: str = XXH3) -> None:
        is_xxh3 = like.startswith(XXH3)
        self._kind = XXH3 if is_xxh3 else SHA256
        self._state = xxhash.xxh3_128() if is_xxh3 else hashlib.sha256()

    def update(self, content: bytes | bytearray | memoryview) -> None:
        """The next bytes."""
        self._state.update(content)

    def text(self, and_then: bytes = b"") -> str:
        """The digest, with its kind: of all bytes until now and of these after them, which are not taken."""
        state = self._state.copy()
        state.update(and_then)
        return self._kind + state.hexdigest()


def may_be_sha256(known: Iterable[str]) -> bool:
    """Whether one of these digests is a SHA-256, or none is known, so that an archive may be known by one."""
    given = [one for one in known if one]
    return not given or any(one.startswith(SHA256) for one in given)


def pack_digest(digest: str, count: int) -> bytes:
    """The digest as a footer has it: so many bytes, with zeros at their end."""
    _, _, digits = digest.partition(":")
    return bytes.fromhex(digits).ljust(count, b"\0")


def unpack_digest(packed: bytes, kind: str) -> str:
    """The digest that a footer has."""
    return kind + packed[: xxhash.xxh3_128().digest_size if kind == XXH3 else None].hex()
