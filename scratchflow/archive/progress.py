"""How a long run tells how far it has come, and how many cores it may use."""

from __future__ import annotations

import os
from collections.abc import Callable

# (phase, files done, files in all, bytes done, bytes in all); called once a frame, not once a file
Progress = Callable[[str, int, int, int, int], None]

# Each holds a frame as it is stored and its content, 8 MiB, and only one of them reads or writes the large file.
MAX_FRAME_READERS = 16


def no_progress(_phase: str, _files: int, _of: int, _bytes: int, _of_bytes: int) -> None:
    """For callers that do not watch."""


def usable_cores() -> int:
    """The cores this process may use: a Slurm job often has fewer than the node."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
