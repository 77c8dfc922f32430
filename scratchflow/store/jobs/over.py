"""`jobs/over`: the jobs of which nothing can change any more, so that a list need not read all of them again.

Nothing depends on it. A job is named there only when it has ended and Slurm has forgotten it: it never runs again.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from scratchflow.disk.durable import replace_file
from scratchflow.model.job import is_job_id
from scratchflow.store.directory import FILE_MODE, JOBS_NAME, StoreDirectory

_NAME = "over"


def read_over(place: StoreDirectory) -> set[str]:
    """Their ids, as far as somebody has noted them."""
    try:
        text = (place.directory / JOBS_NAME / _NAME).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return set()
    return {line for line in text.split("\n") if is_job_id(line)}


def note_over(place: StoreDirectory, jobs: Iterable[str]) -> None:
    """Notes all of these and no others. Of two that do so at once one wins, and the next look completes it."""
    content = "".join(f"{job}\n" for job in sorted(jobs)).encode()
    with suppress(OSError):  # a full store costs the speed only
        replace_file(place.directory / JOBS_NAME / _NAME, content, mode=FILE_MODE)
