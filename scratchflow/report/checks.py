"""One thing that was looked at, as lines for people: readable without colour."""

from __future__ import annotations

from scratchflow.model.ages import for_people
from scratchflow.model.text import printable


def check_lines(name: str, detail: str, fix: str, *, ok: bool) -> list[str]:
    """`✓ store: …` or `✗ store: …`, and beneath it what to do about it."""
    lines = [f"{'✓' if ok else '✗'} {printable(name)}: {for_people(printable(detail))}"]
    return [*lines, f"  fix: {for_people(printable(fix))}"] if fix else lines
