"""What rclone prints: its listing, its progress, and why it failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

NO_DIRECTORY = 3
"""The exit code for a directory that is not there."""

LINK_SUFFIX = ".rclonelink"
"""What rclone calls a link by, with `--links`; without that it lists none."""

# Before every line of its log that is not JSON.
_STAMP = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d (?:[A-Z]+ *: )?")
_MODIFIED = "immutable file modified"
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


def file_complaint(line: bytes) -> tuple[str, str] | None:
    """The file that a line of its log complains of, and the complaint; None for any other line."""
    logged = _logged(line)
    if logged is None or logged.level not in _BAD_LEVELS or not (logged.object and logged.msg):
        return None
    return logged.object, logged.msg.strip()


def is_in_the_way(words: str) -> bool:
    """Whether a file was not sent because something else has its name there."""
    return _MODIFIED in words


def complaint(lines: Iterable[bytes]) -> str:
    """Why it failed, in its own words: the last that its log complains of, of a file before a summary; empty when it does not."""
    found = of_file = ""
    for line in lines:
        logged = _logged(line)
        if logged is None:
            found = _STAMP.sub("", line.decode("utf-8", "replace"), count=1).strip() or found
        elif logged.level in _BAD_LEVELS and logged.msg:
            found = logged.msg.strip()
            of_file = f"{logged.object}: {found}" if logged.object else of_file
    return of_file or found


def _logged(line: bytes) -> _Logged | None:
    try:
        return msgspec.json.decode(line, type=_Logged)
    except msgspec.DecodeError:
        return None
