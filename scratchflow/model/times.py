"""Times as every JSON line and manifest writes them: UTC, whole seconds, a `Z` behind."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import lru_cache

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def iso_time(seconds: float | None) -> str | None:
    """Seconds since 1970 as text; None for nothing, and for what is past every calendar."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime(_FORMAT)
    except (ValueError, OverflowError, OSError):  # which one depends on how far, and on the system
        return None


@lru_cache(maxsize=4096)  # of an array with hundreds of tasks, each time is asked for several times
def epoch(text: str | None) -> float | None:
    """The same back; None for nothing, and for what is no such time."""
    written = (text or "")[:19]
    try:
        parsed = datetime.fromisoformat(written)  # strptime would import a calendar
    except ValueError:
        return None
    if parsed.isoformat() != written:  # ISO has other ways to write a time: they are not ours
        return None
    return parsed.replace(tzinfo=timezone.utc).timestamp()
