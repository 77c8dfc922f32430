"""Times as every JSON line and manifest writes them: UTC, whole seconds, a `Z` behind."""

from __future__ import annotations

from datetime import datetime, timezone

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def iso_time(seconds: float | None) -> str | None:
    """Seconds since 1970 as text."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).strftime(_FORMAT)


def epoch(text: str | None) -> float | None:
    """The same back; None for nothing, and for what is no such time."""
    try:
        parsed = datetime.strptime((text or "")[:19], _FORMAT[:-1])
    except ValueError:
        return None
    return parsed.replace(tzinfo=timezone.utc).timestamp()
