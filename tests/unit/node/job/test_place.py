"""A job's copy is never the live workspace."""

from __future__ import annotations

from pathlib import Path

from scratchflow.node.job.place import debug_place, job_place, make_room
from scratchflow.workspace.workspace import Workspace

JOB = "20261115T093000Z-3f2a9c"


def test_it_lies_beneath_scratch_beside_the_workspace(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "scratch", "work")
    place = job_place(workspace, {}, JOB, 3)
    assert place == tmp_path / "scratch/jobs" / f"{JOB}-3"
    make_room(workspace, place)
    assert (place.parent.stat().st_mode & 0o777, place.exists()) == (0o700, False)


def test_the_jobs_own_directory_is_used_when_slurm_made_one(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "scratch", "work")
    place = job_place(workspace, {"SLURM_TMPDIR": str(tmp_path)}, JOB, 0)
    assert place.parent == tmp_path / "jobs"
    missing = job_place(workspace, {"SLURM_TMPDIR": "/nowhere"}, JOB, 0)
    assert missing.parent == tmp_path / "scratch/jobs"


def test_a_workspace_of_that_name_is_left_alone(tmp_path: Path) -> None:
    place = job_place(Workspace(tmp_path, "jobs/mine"), {}, JOB, 0)
    assert place.parent == tmp_path / "jobs-of-scratchflow"
    place = debug_place(Workspace(tmp_path, "debug"), JOB, 0)
    assert place == tmp_path / "debug-of-scratchflow" / f"{JOB}-0"
