"""Notes which job of the profile is worked in; `workspace/current_job.py` reads it.

A `run` over a way that is known reads the note on the node, which costs one small file, and goes on only in this job.
"""

from __future__ import annotations

from contextlib import suppress

from scratchflow.cluster.slurm.jobs import our_jobs
from scratchflow.disk.durable import replace_file
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import HELD
from scratchflow.workspace.current_job import note_path, noted_job


def note_current_job(login: LoginHost, job_id: int) -> str:
    """Notes that this job is the one; the note's path, or nothing when the home cannot be written."""
    path = note_path(login.home, login.settings.name)
    if noted_job(login.home, login.settings.name) == job_id:
        return str(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, f"{job_id}\n".encode())
    except OSError:
        # An old note would hold: without one, every `run` asks.
        with suppress(OSError):
            path.unlink()
        return ""
    return str(path)


def current_job_note(login: LoginHost, job_id: int) -> str:
    """The note's path, made if there is none; one of another job stays while that job runs, as in a `hop`."""
    noted = noted_job(login.home, login.settings.name)
    path = note_path(login.home, login.settings.name)
    if noted == job_id:
        return str(path)
    jobs = our_jobs(login.slurm, login.settings.name) if noted else []
    if any(job.job_id == noted and job.state in HELD for job in jobs):
        return str(path)
    return note_current_job(login, job_id)
