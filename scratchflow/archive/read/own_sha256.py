"""The SHA-256 that an archive carries in its footer, of everything before it: known also when its manifest is gone."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from scratchflow.archive.format.container import FOOTER_BYTES, Footer, unpack_footer
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.reader import open_regular, read_footer


class ArchiveDigest:
    """The digests of an archive that is read piece by piece, from its beginning to its end."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._before = hashlib.sha256()  # of all but the last FOOTER_BYTES
        self._tail = b""

    def update(self, piece: bytes) -> None:
        """The next piece of it."""
        self.size_bytes += len(piece)
        rest = self._tail + piece
        self._before.update(rest[:-FOOTER_BYTES])
        self._tail = rest[-FOOTER_BYTES:]

    @property
    def sha256(self) -> str:
        """Of the whole file, as its manifest has it."""
        whole = self._before.copy()
        whole.update(self._tail)
        return whole.hexdigest()

    @property
    def own_sha256(self) -> str:
        """The one in its footer; empty when what was read does not match it."""
        try:
            noted = unpack_footer(self._tail, self.size_bytes).content_sha256
        except Malformed:
            return ""
        return noted.hex() if noted == self._before.digest() else ""


def footer_of(file: Path) -> Footer:
    """The footer of an archive, of which nothing else is read; Malformed when it has none."""
    descriptor = open_regular(file)
    try:
        return read_footer(descriptor)
    finally:
        os.close(descriptor)


def noted_sha256(file: Path) -> str:
    """The SHA-256 in the footer of an archive; Malformed when it has none."""
    return footer_of(file).content_sha256.hex()
