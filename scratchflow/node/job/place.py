"""Where a job has its own copy of the workspace: never the live one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from scratchflow.disk.private import make_private_directories
from scratchflow.workspace.own_scratch import make_own_scratch
from scratchflow.workspace.workspace import Workspace

_JOB_DIRECTORY = "SLURM_TMPDIR"


def job_place(workspace: Workspace, environment: Mapping[str, str], job: str, task: int) -> Path:
    """`$SLURM_TMPDIR` where Slurm makes one, else beneath scratch, beside the workspace."""
    own = environment.get(_JOB_DIRECTORY, "")
    top = Path(own) if _is_ours(own) else workspace.scratch
    return top / _jobs(workspace) / f"{job}-{task}"


def job_copies(workspace: Workspace) -> Path:
    """The directory of those beneath scratch."""
    return workspace.scratch / _jobs(workspace)


def debug_place(workspace: Workspace, job: str, task: int) -> Path:
    """Where a person tries the task again: beneath scratch, beside the workspace, where no job saves or removes it."""
    return debug_copies(workspace) / f"{job}-{task}"


def debug_copies(workspace: Workspace) -> Path:
    """The directory of all of those."""
    return workspace.scratch / _free_name(workspace, "debug")


def _jobs(workspace: Workspace) -> str:
    return _free_name(workspace, "jobs")


def _free_name(workspace: Workspace, name: str) -> str:
    roots = {root.split("/")[0] for root in workspace.roots}
    return f"{name}-of-scratchflow" if name in roots else name


def make_room(workspace: Workspace, target: Path) -> None:
    """The directory above the copy, private."""
    if target.is_relative_to(workspace.scratch):
        make_own_scratch(workspace)
    make_private_directories(target.parent)


def _is_ours(directory: str) -> bool:
    try:
        return os.path.isabs(directory) and os.stat(directory).st_uid == os.geteuid()
    except OSError:
        return False
