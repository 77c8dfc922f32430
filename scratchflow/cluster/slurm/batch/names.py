"""The name of a submitted job in Slurm, by which it is found again when the answer of `sbatch` was lost."""

from __future__ import annotations

import re

from scratchflow.model.job import is_job_id

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
# What means a job by itself, with a task or without: it goes before names.
_MEANS_ANOTHER = re.compile(r"(\d+|last)(_\d+)?", re.ASCII)
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)


def batch_name(name: str, job: str) -> str:
    """`train:20261115T093000Z-3f2a9c`: the user's word first, because `squeue` shows the beginning."""
    if not _NAME.fullmatch(name) or not is_job_id(job):
        raise ValueError(f"not a job: {name!r}, {job!r}")
    return f"{name}:{job}"


def job_of_name(text: str) -> str | None:
    """The id in such a name; None for any other job, also for the one that holds a node for us."""
    name, _, job = text.partition(":")
    return job if _NAME.fullmatch(name) and is_job_id(job) else None


def fitting_name(text: str) -> str:
    """What a job can be called after a program or a script."""
    return fitted_name(text) or "job"


def fitted_name(text: str) -> str:
    """What of a name is left that Slurm and a file can have; empty for none."""
    return _UNFIT.sub("-", text).strip("-.")[:64]


def means_another(name: str) -> bool:
    """Whether a job of this name could not be asked for by it: a number, `6_1`, `last` and an id keep their meaning."""
    fitting = fitting_name(name)
    return bool(name) and (_MEANS_ANOTHER.fullmatch(fitting) is not None or is_job_id(fitting))
