"""Submitted jobs as `squeue` knows them, every task of an array for itself; one question for all of them."""

from __future__ import annotations

import msgspec

from scratchflow.cluster.slurm.batch.names import job_of_name
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.job_text import is_number, slurm_epoch
from scratchflow.cluster.slurm.states import base_state

_SEPARATOR = "\x1f"
# The name is last: it may hold anything.
_FIELDS = ("%A", "%F", "%K", "%T", "%u", "%P", "%N", "%S", "%e", "%r", "%j")
_FORMAT = "--format=" + _SEPARATOR.join(_FIELDS)


class QueuedTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a submitted job. Times are seconds since 1970."""

    job: str
    """Our id of the job."""
    number: int
    """What Slurm calls the whole job."""
    job_id: int
    """What Slurm calls this task; the same as `number` unless it is one of an array."""
    task: int
    state: str
    """In Slurm's words: `PENDING`, `RUNNING`, `TIMEOUT` …"""
    partition: str
    node: str
    start: int | None
    end: int | None
    reason: str
    name: str
    is_numbered: bool = True
    """Off for a line without the number of a task: a job that is no array, or all tasks that were cancelled before they started."""


def queued_tasks(slurm: Slurm, name: str = "") -> list[QueuedTask]:
    """Every task of the user's submitted jobs, also those that ended within Slurm's memory (MinJobAge)."""
    named = [f"--name={name}"] if name else []
    argv = ["squeue", "--noheader", "--array", f"--user={slurm.user}", *named, "--states=all"]
    done = slurm.ask([*argv, _FORMAT])
    if done.returncode != 0:
        raise slurm.unreachable(done.last_line)
    return tasks_in(done.text, slurm.user)


def number_of(slurm: Slurm, name: str) -> int | None:
    """The number of the user's job of exactly this name; None when Slurm knows none."""
    found = [one.number for one in queued_tasks(slurm, name) if one.name == name]
    return min(found) if found else None


def tasks_in(text: str, user: str) -> list[QueuedTask]:
    """What `squeue` printed; a line that is no job of ours is passed over."""
    rows = (line.split(_SEPARATOR, len(_FIELDS) - 1) for line in text.split("\n"))
    return [
        task
        for row in rows
        if len(row) == len(_FIELDS) and row[4].strip() == user and (task := _task(row)) is not None
    ]


def _task(row: list[str]) -> QueuedTask | None:
    job_id, number, task, state, _, partition, nodes, start, end, reason, name = row
    job = job_of_name(name)
    if job is None or not is_number(job_id) or not is_number(number):
        return None
    # Slurm gives what was cancelled in the queue a start.
    has_begun = base_state(state) != "PENDING" and bool(nodes.strip())
    return QueuedTask(
        job=job,
        number=int(number),
        job_id=int(job_id),
        task=int(task) if is_number(task) else 0,
        state=base_state(state),
        partition=partition.strip(),
        node=nodes.strip() if has_begun else "",
        start=slurm_epoch(start) if has_begun else None,
        end=None if base_state(state) == "PENDING" else slurm_epoch(end),
        reason=reason.strip(),
        name=name,
        is_numbered=is_number(task),
    )
