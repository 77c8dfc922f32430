"""A footer with any byte changed is refused."""

from __future__ import annotations

import pytest

from scratchflow.archive.format.container import FOOTER_BYTES
from scratchflow.archive.read.archive_file import open_index
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.hostile.archive.conftest import (
    Range,
    good_archive,
)


@pytest.mark.parametrize("position", range(8, FOOTER_BYTES, 7))
def test_damaged_footers_are_refused(shooting_range: Range, position: int) -> None:
    good_archive(shooting_range)
    content = bytearray(shooting_range.archive.read_bytes())
    content[-FOOTER_BYTES + position] ^= 0x40
    shooting_range.archive.write_bytes(content)
    with pytest.raises(SnapshotDamaged):
        open_index(shooting_range.archive)
