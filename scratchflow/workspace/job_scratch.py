"""Where a job has its scratch, found once and noted in the home that all hosts of the cluster share.

A session of ssh on the node, and the login host, know nothing of what a job has `$SLURM_TMPDIR` set to.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.profile import path_names
from scratchflow.workspace.path_names import is_of_the_account

# Not `scratch`: that is where the profile `local` has its workspaces.
_DIRECTORY = ".local/share/scratchflow/job-scratch"
_OF_SLURM = "SLURM_"
_KEPT_S = 30 * 86400


class JobScratch(msgspec.Struct, frozen=True, kw_only=True):
    """The scratch of one job; `written` is how the profile names it."""

    job_id: int
    node: str
    written: str
    path: str


def note_scratch(home: Path, profile: str, found: JobScratch) -> None:
    """Notes it for every later command of this job. OSError when the home cannot be written."""
    directory = home / _DIRECTORY
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    _remove_old(directory)
    replace_file(_file(home, profile, found.job_id, found.node), msgspec.json.encode(found) + b"\n")


def noted_scratch(home: Path, profile: str, written: str, job_id: int | None, node: str) -> str:
    """Where this job has what the profile names so; empty when nobody has noted it."""
    if job_id is None:
        return ""
    try:
        text = _file(home, profile, job_id, node).read_bytes()
        found = decoded(text, JobScratch)
    except (OSError, msgspec.DecodeError):
        return ""
    is_it = (found.job_id, found.node, found.written) == (job_id, node, written)
    return found.path if is_it and os.path.isabs(found.path) else ""


def forget_scratch(home: Path, profile: str, job_id: int) -> None:
    """The next command asks the job's nodes again."""
    with suppress(OSError):
        for file in (home / _DIRECTORY).glob(f"{profile}-{job_id}-*.json"):
            file.unlink(missing_ok=True)


def goes_with_job(written: str, path: str, job_id: int | None) -> bool:
    """Whether a scratch is one job's alone, and removed at its end.

    The site decides that, and tells nobody. A directory that is named after the job, or by one of
    Slurm's own names, is taken for such a one.
    """
    if any(name.startswith(_OF_SLURM) for name in path_names(written)):
        return True
    if job_id is None or is_of_the_account(written):  # `2` in `/scratch/ada2` is no job's number
        return False
    return re.search(rf"(?<!\d){job_id}(?!\d)", path) is not None


def _file(home: Path, profile: str, job_id: int, node: str) -> Path:
    """A node's name is Slurm's word, and becomes part of a file's."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", node)[:128]
    return home / _DIRECTORY / f"{profile}-{job_id}-{plain}.json"


def _remove_old(directory: Path) -> None:
    """No job runs for that long after its scratch was found."""
    with suppress(OSError):
        for entry in os.scandir(directory):
            if time.time() - entry.stat().st_mtime > _KEPT_S:
                os.unlink(entry.path)
