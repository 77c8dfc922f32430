"""The note of the job that is worked in, one file for each profile in the home that all hosts of the cluster share.

Two jobs of a profile run while `hop` moves, and from the moment when a request that `hop` left in the queue is granted until
somebody moves there. What is meant without a word about it is the job where the work is, not the younger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from scratchflow.model.allocation import Allocation, RunningAllocation

_DIRECTORY = ".local/share/scratchflow/current"

A = TypeVar("A", Allocation, RunningAllocation)


def note_path(home: Path, profile: str) -> Path:
    """Where the number of the job is noted."""
    return home / _DIRECTORY / profile


def noted_job(home: Path, profile: str) -> int | None:
    """The number that is noted; None without a note that can be read."""
    try:
        return int(note_path(home, profile).read_bytes())
    except (OSError, ValueError):
        return None


def worked_in(jobs: Sequence[A], noted: int | None) -> A | None:
    """Of jobs that hold a node, oldest first, the one that is noted; without it the newest."""
    chosen = [job for job in jobs if job.job_id == noted] or jobs
    return chosen[-1] if chosen else None
