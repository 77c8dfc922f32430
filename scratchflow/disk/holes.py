"""Writes files so that a stretch of zeros takes no room."""

from __future__ import annotations

from typing import IO

_PIECE_BYTES = 1 << 16
_ZEROS = bytes(_PIECE_BYTES)


def write_with_holes(file: IO[bytes], content: bytes) -> None:
    """Appends bytes to a new file, passing over zeros; `file.truncate()` at the end gives it its length."""
    for start in range(0, len(content), _PIECE_BYTES):
        piece = content[start : start + _PIECE_BYTES]
        if piece == _ZEROS[: len(piece)]:
            file.seek(len(piece), 1)
        else:
            file.write(piece)
