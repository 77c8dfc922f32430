"""Durations and sizes the way people write and read them."""

from __future__ import annotations

import re

_SECONDS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d{1,9})\s*([wdhms])\s*", re.ASCII)
_FOREVER = "forever"
# No date that is this far from today overflows.
_MAX_SECONDS = 100 * 366 * 86400
_BYTES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGTP]?)(?:i?B)?", re.ASCII | re.IGNORECASE)


class Duration:
    """A span of whole seconds, written `30m`, `1h30m` or `7d`."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Reads `90s`, `30m`, `1h 30m`, `7d`; a ValueError says what is allowed."""
        seconds = position = 0
        stripped = text.strip().lower()
        while match := _DURATION.match(stripped, position):
            seconds += int(match[1]) * _SECONDS[match[2]]
            position = match.end()
        if not stripped or position != len(stripped):
            raise ValueError("a duration like `90s`, `30m`, `1h30m` or `7d`")
        if seconds > _MAX_SECONDS:
            raise ValueError("a duration of at most 100 years")
        return cls(seconds)

    def __str__(self) -> str:
        return format_duration(self.seconds)

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and other.seconds == self.seconds

    def __hash__(self) -> int:
        return hash(self.seconds)


class Span:
    """How long something is kept: whole seconds, or `forever`, which has no seconds."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: int | None) -> None:
        self.seconds = seconds

    @classmethod
    def parse(cls, text: str) -> Span:
        """Reads what `Duration` reads, and `forever`."""
        if text.strip().lower() == _FOREVER:
            return cls(None)
        try:
            return cls(Duration.parse(text).seconds)
        except ValueError as error:
            raise ValueError(f"{error}, or `{_FOREVER}`") from None

    def __str__(self) -> str:
        return _FOREVER if self.seconds is None else format_duration(self.seconds)

    def __repr__(self) -> str:
        return f"Span({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and other.seconds == self.seconds

    def __hash__(self) -> int:
        return hash(self.seconds)


def format_took(seconds: float) -> str:
    """How long something took, for people: `0.04 s`, `2.5 s`, `1m20s`."""
    if seconds >= 59.95:
        return format_duration(round(seconds))
    return f"{seconds:.2f} s" if seconds < 0.995 else f"{seconds:.1f} s"


def format_duration(seconds: float) -> str:
    """The exact whole seconds in the largest units: `1h30m`, `45s`; `Duration.parse` reads it."""
    rest, parts = int(seconds), []
    if rest < 0:
        return f"-{format_duration(-rest)}"
    for unit, size in _SECONDS.items():
        if unit == "w":  # `7d` is what people write
            continue
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_size(text: str) -> int:
    """Reads `512`, `32G`, `1.5 GiB` as bytes, units of 1024; a ValueError says what is allowed."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError("a size like `512M`, `32G` or `1.5T`")
    return int(float(match[1]) * _BYTES[match[2].upper()])


def format_size(size_bytes: int) -> str:
    """Three significant digits and a binary unit: `834 B`, `1.24 GiB`."""
    if abs(size_bytes) < 1024:
        return f"{size_bytes} B"
    value = float(size_bytes)
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        value /= 1024
        # 999.5 and more would round to a fourth digit.
        if abs(value) < 999.5 or unit == "PiB":
            break
    limits = ((0.9995, 3), (9.995, 2), (99.95, 1))
    digits = next((digits for limit, digits in limits if abs(value) < limit), 0)
    return f"{value:.{digits}f} {unit}"
