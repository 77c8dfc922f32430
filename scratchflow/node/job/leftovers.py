"""Copies of the workspace that jobs which died have left on this node: saved, then removed by the next job here."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scratchflow.disk.trees import remove_tree
from scratchflow.model.errors import ScratchflowError
from scratchflow.model.job import TaskRecord
from scratchflow.model.times import iso_time
from scratchflow.node.context import NodeContext
from scratchflow.node.job.collect import Collector
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.jobs.records import job_directory, read_job, read_task, write_task

_NAME = re.compile(r"(\d{8}T\d{6}Z-[0-9a-f]{6})-(\d+)", re.ASCII)


@contextmanager
def in_use(copy: Path) -> Iterator[bool]:
    """Marks a copy as used while inside; False when somebody else uses it. The mark goes with its process."""
    descriptor = os.open(copy, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except OSError:
            is_ours = False
        yield is_ours
    finally:
        os.close(descriptor)


def save_leftovers(here: NodeContext, place: StoreDirectory, parent: Path, own: str) -> None:
    """Saves and removes what tasks of this store have left in `parent`; `own` is left alone.

    Trouble with one of them is no reason not to run the job: it stays for the next.
    """
    try:
        names = sorted(os.listdir(parent))
    except FileNotFoundError:
        return
    for name in names:
        match = _NAME.fullmatch(name)
        if match and name != own:
            with suppress(OSError, ScratchflowError):
                _save(here, place, parent / name, match[1], int(match[2]))


def _save(here: NodeContext, place: StoreDirectory, copy: Path, job: str, task: int) -> None:
    record, task_record = read_job(place, job), read_task(place, job, task)
    if record is None or task_record is None or task_record.node != here.node:
        return
    is_over = task_record.phase == "ended" or (
        task_record.job_id is not None and here.is_job_over(task_record.job_id)
    )
    if (
        not is_over or read_task(place, job, task) != task_record
    ):  # it may have been requeued meanwhile
        return
    with in_use(copy) as is_ours:
        if not is_ours:
            return
        where = job_directory(place, job).outputs(task)
        work = copy / record.workspace
        found = Collector(work, where, record.collect, all_of_it=True).collect()
        if found.failed:
            return
        saved: TaskRecord = msgspec.structs.replace(
            task_record,
            collected_files=max(found.files, task_record.collected_files),
            collected_bytes=max(found.bytes, task_record.collected_bytes),
            collected_paths=list(found.paths) or task_record.collected_paths,
            not_collected=[],
            collected_time=iso_time(here.now().timestamp()),
        )
        write_task(place, job, saved)
        remove_tree(copy)
