"""Which processes of this machine belong to a terminal's session (`setsid`)."""

from __future__ import annotations

import os
from collections.abc import Container


def processes_of_sessions(sessions: Container[int]) -> dict[int, int]:
    """The processes of these sessions that live, each with its session."""
    found = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                # The name of the program, in parentheses, may hold anything.
                state, _, _, session = file.read().rpartition(b")")[2].split()[:4]
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        if int(session) in sessions and state not in {b"Z", b"X"}:
            found[int(entry)] = int(session)
    return found
