"""Which job people mean: by Slurm's number, our id or the end of it, its name, or the last one. Damaged records are told."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

import msgspec

from scratchflow.cluster.slurm.batch.names import fitted_name
from scratchflow.cluster.slurm.batch.sbatch import number_ranges
from scratchflow.login.host import LoginHost
from scratchflow.model.errors.jobs import JobMissing, TaskMissing
from scratchflow.model.job import JobRecord
from scratchflow.model.text import printable
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.jobs.records import job_directory, read_jobs

LAST = "last"
_TASK = re.compile(r"(.+)_(\d+)", re.ASCII)
_SHORTEST_END = 4


class Jobs(msgspec.Struct, frozen=True):
    """All records that can be read, oldest first, and the ids of those that cannot."""

    records: list[JobRecord]
    damaged: list[str]
    # Says something to whoever asked.
    remark: Callable[[str], None] = lambda _: None

    def find(self, wanted: str) -> tuple[JobRecord, int | None]:
        """As `find_job`; JobMissing also when the record of the one that is meant cannot be read."""
        text = wanted.strip()
        newest = self.records[-1].id if self.records else ""
        if text == LAST and any(job > newest for job in self.damaged):
            raise _cannot_be_read(wanted, self.damaged[-1])
        try:
            record, task = find_job(self.records, wanted)
        except JobMissing:
            for job in self.damaged:
                if len(text) >= _SHORTEST_END and job.endswith(text):
                    raise _cannot_be_read(wanted, job) from None
            raise
        alike = len(self.named(wanted))
        if alike > 1:
            which = record.number or record.id
            self.remark(f"{alike} jobs are named `{printable(record.name)}`: {which} is the newest")
        return record, task

    def named(self, wanted: str) -> list[JobRecord]:
        """Those that have this name, oldest first; none where a number, an id or `last` is meant."""
        text = wanted.strip()
        return [] if _numbered(self.records, text)[0] else _named(self.records, text)[0]

    def of_same_number(self, record: JobRecord) -> list[str]:
        """The ids of the others that have its number: a new slurmctld begins to count again."""
        if record.number is None:
            return []
        same = (one.id for one in self.records if one.number == record.number)
        return [job for job in same if job != record.id]


def _cannot_be_read(wanted: str, job: str) -> JobMissing:
    return JobMissing(wanted=wanted, detail=f": the record of `{job}` cannot be read")


def known_jobs(login: LoginHost, place: StoreDirectory, but: Collection[str] = ()) -> Jobs:
    """All jobs but these; each record that cannot be read is told, with what to do about it.

    StoreLost when there are none because the store is away: nobody is told that there are no jobs.
    """
    damaged: list[str] = []
    records = read_jobs(place, but, damaged)
    if not (records or damaged or but):
        _require_store(login, place)
    for job in damaged:
        path = job_directory(place, job).path
        message = (
            f"job `{job}` is left out: its record `{path}/job.json` cannot be read;"
            " what it printed and made is beside it, and moving that directory out of the store gives the job up"
        )
        login.caution("job.damaged", message)
    return Jobs(records, damaged, login.remark)


def _require_store(login: LoginHost, place: StoreDirectory) -> None:
    from scratchflow.store.known import store_lost  # few need it

    lost = store_lost(login.home, place, login.host, mirror=login.profile.backup.mirror)
    if lost is not None:
        raise lost


def find_job(records: Sequence[JobRecord], wanted: str) -> tuple[JobRecord, int | None]:
    """The record, and the task that `12_3` names; JobMissing when none or several fit.

    `records` are oldest first. A number that Slurm gave out twice, and a name, mean the newest job.
    """
    text = wanted.strip()
    found, task = _numbered(records, text)
    named, its_task = _named(records, text)
    if not found:
        found, task = named[-1:], its_task
    elif named and task == its_task and _is_end(found[0], text.partition("_")[0]):
        # Nobody chose the end of an id: it may be what another job is named.
        found = list({one.id: one for one in [*found, named[-1]]}.values())
    if not found:
        none_yet = "" if records else ": none was submitted yet"
        raise JobMissing(wanted=wanted, detail=none_yet)
    if len(found) > 1:
        ids = ", ".join(f"`{record.id}`" for record in found[:4])
        raise JobMissing(wanted=wanted, detail=f": it could be {ids}")
    if task is not None and task not in found[0].task_numbers:
        raise _no_task(found[0], task)
    return found[0], task


def _is_end(record: JobRecord, text: str) -> bool:
    return record.id.endswith(text) and str(record.number) != text


def _numbered(records: Sequence[JobRecord], text: str) -> tuple[Sequence[JobRecord], int | None]:
    """By number, id or `last`, and the task."""
    found = _fitting(records, text)
    if found or not (match := _TASK.fullmatch(text)):
        return found, None
    return _fitting(records, match[1]), int(match[2])


def _named(records: Sequence[JobRecord], text: str) -> tuple[list[JobRecord], int | None]:
    """By name, and the task; also by the name as it was asked for, of which Slurm's is made."""
    found = _of_name(records, text)
    if found or not (match := _TASK.fullmatch(text)):
        return found, None
    return _of_name(records, match[1]), int(match[2])


def _of_name(records: Sequence[JobRecord], text: str) -> list[JobRecord]:
    found = [record for record in records if record.name == text]
    return found or [record for record in records if record.name == fitted_name(text)]


def _no_task(record: JobRecord, task: int) -> TaskMissing:
    numbers = record.task_numbers
    several = f"its tasks are {number_ranges(numbers)}"
    has = several if len(numbers) > 1 else f"it has {numbers[0]} alone"
    return TaskMissing(job=record.number or record.id, task=task, has=has)


def _fitting(records: Sequence[JobRecord], text: str) -> list[JobRecord]:
    if text == LAST:
        return list(records[-1:])
    if text.isascii() and text.isdigit():
        numbered = [record for record in records if str(record.number) == text]
        if numbered:
            return numbered[-1:]
    if len(text) < _SHORTEST_END:
        return []
    return [record for record in records if record.id == text or record.id.endswith(text)]
