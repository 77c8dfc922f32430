"""The digest that an archive carries in its footer, of everything before it: known also when its manifest is gone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from scratchflow.archive.format.container import FOOTER_BYTES, Footer, unpack_footer
from scratchflow.archive.format.whole_digest import SHA256, XXH3, WholeDigest, may_be_sha256
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import open_regular, read_footer


class ArchiveDigest:
    """The digests of an archive that is read piece by piece, from its beginning to its end.

    Only its footer tells of which kind they are. `known` is what it is to be compared with: of that kind they are, and
    where nothing is known, both kinds are made.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.size_bytes = 0
        self._tail = b""
        kinds = [XXH3, SHA256] if may_be_sha256(known) else [XXH3]
        self._before = {kind: WholeDigest(kind) for kind in kinds}  # of all but the tail

    def update(self, piece: bytes) -> None:
        """The next piece of it."""
        self.size_bytes += len(piece)
        if len(piece) < FOOTER_BYTES:
            piece, self._tail = self._tail + piece, b""
        self._take(self._tail)
        self._take(memoryview(piece)[:-FOOTER_BYTES])
        self._tail = piece[-FOOTER_BYTES:]

    def _take(self, content: bytes | memoryview) -> None:
        for one in self._before.values():
            one.update(content)

    @property
    def digest(self) -> str:
        """Of the whole file, as its manifest has it."""
        footer = self._footer()
        is_sha256 = footer is not None and footer.content_digest.startswith(SHA256)
        return self._before[SHA256 if is_sha256 and SHA256 in self._before else XXH3].text(
            self._tail
        )

    @property
    def own_digest(self) -> str:
        """The one in its footer; empty when what was read does not match it."""
        footer = self._footer()
        if footer is None:
            return ""
        found = {one.text() for one in self._before.values()}
        return footer.content_digest if footer.content_digest in found else ""

    def _footer(self) -> Footer | None:
        try:
            return unpack_footer(self._tail, self.size_bytes)
        except Malformed:
            return None


def footer_of(file: Path) -> Footer:
    """The footer of an archive, of which nothing else is read; Malformed when it has none."""
    descriptor = open_regular(file)
    try:
        return read_footer(descriptor)
    finally:
        os.close(descriptor)
