"""`jobs diff`: what differs between two jobs, in what was asked for and in how they went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.ends import name_of
from scratchflow.login.jobs.find import known_jobs
from scratchflow.login.jobs.list import shown_job, states_of
from scratchflow.login.jobs.look import look_at, store_of
from scratchflow.model.requests import CompareJobs
from scratchflow.model.results.jobs import JobDifference, JobsCompared, JobShown, TaskShown
from scratchflow.model.times import epoch


def compare_jobs(login: LoginHost, asked: CompareJobs) -> JobsCompared:
    """Compares two jobs, each as a whole, or two tasks."""
    place = store_of(login)
    jobs = known_jobs(login, place)
    found = [jobs.find(wanted) for wanted in (asked.first, asked.second)]
    looked = look_at(login, place, [record for record, _ in found], in_full=True)
    tables = [
        _table(shown_job(place, one), task) for one, (_, task) in zip(looked, found, strict=True)
    ]
    first, second = (name_of(record, task) for record, task in found)
    return JobsCompared(first=first, second=second, differences=differences(*tables))


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[JobDifference]:
    """The names whose values differ, in the order of the tables."""
    names = dict.fromkeys([*first, *second])
    return [
        JobDifference(what=name, first=first.get(name), second=second.get(name))
        for name in names
        if first.get(name) != second.get(name)
    ]


def _table(job: JobShown, task: int | None) -> dict[str, Any]:
    tasks = [one for one in job.tasks if task in {None, one.task}]
    git = job.git
    return {
        "snapshot": job.snapshot,
        "git commit": git.commit if git else None,
        "git branch": git.branch if git else None,
        "git dirty": git.dirty if git else None,
        "command": " ".join(job.command),
        "directory": job.cwd,
        "tasks": len(tasks),
        **_parameters(tasks),
        "tags": " ".join(job.tags),
        **{f"slurm {name}": value for name, value in job.slurm.items()},
        "sbatch": " ".join(job.sbatch),
        "continue": job.continues,
        "signal": job.signal,
        **_outcome(tasks),
    }


def _parameters(tasks: Sequence[TaskShown]) -> dict[str, Any]:
    """Each with its value; with all that it has, when it varies between the tasks."""
    names = dict.fromkeys(name for task in tasks for name in task.parameters)
    return {f"param {name}": _each([task.parameters.get(name) for task in tasks]) for name in names}


def _each(values: Sequence[Any]) -> Any:
    """The one value, or the different ones in a row."""
    different = [value for at, value in enumerate(values) if value not in values[:at]]
    return different[0] if len(different) == 1 else ", ".join(map(str, different))


def _outcome(tasks: Sequence[TaskShown]) -> dict[str, Any]:
    starts, ends = ([epoch(moment) for moment in moments] for moments in _moments(tasks))
    is_over = None not in starts and None not in ends
    memory = [task.peak_memory_bytes for task in tasks if task.peak_memory_bytes is not None]
    cpu_s = [task.cpu_s for task in tasks if task.cpu_s is not None]
    return {
        "state": states_of(tasks),
        "exit code": _each(sorted({task.code for task in tasks}, key=str)),
        "node": _each([task.node for task in tasks]),
        "seconds": round(max(filter(None, ends)) - min(filter(None, starts))) if is_over else None,
        "peak memory": max(memory, default=None),
        "cpu seconds": sum(cpu_s) if cpu_s else None,
        "collected files": sum(task.collected_files for task in tasks),
    }


def _moments(tasks: Sequence[TaskShown]) -> tuple[list[str | None], list[str | None]]:
    return [task.start for task in tasks], [task.end for task in tasks]
