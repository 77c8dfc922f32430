"""Which job people mean: by Slurm's number, by our id or the end of it, or the last one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scratchflow.model.errors import JobMissing
from scratchflow.model.job import JobRecord

LAST = "last"
_TASK = re.compile(r"(.+)_(\d+)", re.ASCII)
_SHORTEST_END = 4


def find_job(records: Sequence[JobRecord], wanted: str) -> tuple[JobRecord, int | None]:
    """The record, and the task that `12_3` names; JobMissing when none or several fit.

    `records` are oldest first. A number that Slurm gave out twice means the newest job.
    """
    text, task = wanted.strip(), None
    found = _fitting(records, text)
    if not found and (match := _TASK.fullmatch(text)):
        found, task = _fitting(records, match[1]), int(match[2])
    if not found:
        raise JobMissing(wanted=wanted, detail="")
    if len(found) > 1:
        ids = ", ".join(f"`{record.id}`" for record in found[:4])
        raise JobMissing(wanted=wanted, detail=f": it could be {ids}")
    if task is not None and task not in found[0].task_numbers:
        raise JobMissing(wanted=wanted, detail=f": job {found[0].number} has no task {task}")
    return found[0], task


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
