"""What rclone prints: its listing, its progress, and why it failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

NO_DIRECTORY = 3
"""The exit code for a directory that is not there."""

# Before every line of its log that is not JSON.
_STAMP = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d (?:[A-Z]+ *: )?")
_BAD_LEVELS = {"error", "critical", "fatal", "panic", "emergency", "alert"}


class _Listed(msgspec.Struct, frozen=True):
    name: str = msgspec.field(name="Name")
    size: int = msgspec.field(name="Size")


class _Stats(msgspec.Struct, frozen=True):
    done: int = msgspec.field(name="bytes", default=0)


class _Logged(msgspec.Struct, frozen=True):
    level: str = ""
    msg: str = ""
    object: str = ""
    stats: _Stats | None = None


def read_listing(printed: bytes) -> dict[str, int]:
    """The files that `lsjson` lists, with their sizes; ValueError when it is no listing."""
    try:
        files = msgspec.json.decode(printed or b"[]", type=list[_Listed])
    except msgspec.DecodeError as error:
        raise ValueError(f"its listing cannot be read ({error})") from None
    return {one.name: one.size for one in files}


def bytes_done(line: bytes) -> int | None:
    """How many bytes a line of its log says are through; None for any other line."""
    logged = _logged(line)
    return logged.stats.done if logged and logged.stats else None


def complaint(lines: Iterable[bytes]) -> str:
    """Why it failed, in its own words: the last that its log complains of; empty when it does not."""
    found = ""
    for line in lines:
        logged = _logged(line)
        if logged is None:
            found = _STAMP.sub("", line.decode("utf-8", "replace"), count=1).strip() or found
        elif logged.level in _BAD_LEVELS and logged.msg:
            about = f"{logged.object}: " if logged.object else ""
            found = f"{about}{logged.msg}".strip()
    return found


def _logged(line: bytes) -> _Logged | None:
    try:
        return msgspec.json.decode(line, type=_Logged)
    except msgspec.DecodeError:
        return None
