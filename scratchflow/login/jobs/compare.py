"""`jobs diff`: what differs between two jobs, in what was asked for and in how they went."""

from __future__ import annotations

from typing import Any

from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.find import known_jobs
from scratchflow.login.jobs.list import shown_job
from scratchflow.login.jobs.look import look_at, store_of
from scratchflow.model.requests import CompareJobs
from scratchflow.model.results import JobDifference, JobsCompared, JobShown, TaskShown
from scratchflow.model.times import epoch


def compare_jobs(login: LoginHost, asked: CompareJobs) -> JobsCompared:
    """Compares two jobs, or two tasks; of several tasks without a number, the first."""
    place = store_of(login)
    jobs = known_jobs(login, place)
    found = [jobs.find(wanted) for wanted in (asked.first, asked.second)]
    looked = look_at(login, place, [record for record, _ in found], in_full=True)
    tables = [
        _table(shown_job(place, one), task) for one, (_, task) in zip(looked, found, strict=True)
    ]
    return JobsCompared(
        first=asked.first, second=asked.second, differences=differences(tables[0], tables[1])
    )


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[JobDifference]:
    """The names whose values differ, in the order of the tables."""
    names = dict.fromkeys([*first, *second])
    return [
        JobDifference(what=name, first=first.get(name), second=second.get(name))
        for name in names
        if first.get(name) != second.get(name)
    ]


def _table(job: JobShown, task: int | None) -> dict[str, Any]:
    tasks = {one.task: one for one in job.tasks}
    one = tasks[task] if task is not None else job.tasks[0]
    git = job.git
    return {
        "snapshot": job.snapshot,
        "git commit": git.commit if git else None,
        "git branch": git.branch if git else None,
        "git dirty": git.dirty if git else None,
        "command": " ".join(job.command),
        "directory": job.cwd,
        **{f"param {name}": value for name, value in one.parameters.items()},
        "tags": " ".join(job.tags),
        **{f"slurm {name}": value for name, value in job.slurm.items()},
        "sbatch": " ".join(job.sbatch),
        "continue": job.continues,
        "signal": job.signal,
        **_outcome(one),
    }


def _outcome(task: TaskShown) -> dict[str, Any]:
    start, end = epoch(task.start), epoch(task.end)
    return {
        "state": task.state,
        "exit code": task.code,
        "node": task.node,
        "seconds": None if start is None or end is None else round(end - start),
        "peak memory": task.peak_memory_bytes,
        "cpu seconds": task.cpu_s,
        "collected files": task.collected_files,
    }
