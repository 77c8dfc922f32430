"""docs/architecture.md names files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()


def test_every_file_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", PAGE))
    assert len(named) > 40
    missing = [name for name in sorted(named) if not _is_there(name)]
    assert missing == []


def _is_there(name: str) -> bool:
    return (ROOT / "scratchflow" / name).is_file() or (ROOT / name).is_file()


def test_every_folder_in_the_table_of_rooms_is_there() -> None:
    rooms = re.findall(r"^\| `([a-z_/]+)/` \|", PAGE, re.MULTILINE)
    assert len(rooms) > 30
    assert [room for room in rooms if not (ROOT / "scratchflow" / room).is_dir()] == []
