"""What jobs that died have left in their copies on this node: saved, then removed by the next job here.

A copy holds the record of its job: when that is gone from the store, it is put back with what the job made. One that its
user has given up is removed without being saved.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec

from scratchflow.disk.durable import is_there, replace_file
from scratchflow.disk.private import make_private_directories
from scratchflow.disk.trees import open_tree, remove_tree
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.job import SAVED_ONCE, JobRecord, TaskRecord
from scratchflow.model.times import iso_time
from scratchflow.node.context import NodeContext
from scratchflow.node.job.collect import Collected, Collector
from scratchflow.node.job.copies import (
    begun_ns,
    in_use,
    is_removed_copy,
    open_copy,
    put_back,
    read_mark,
    remove_copy,
    task_of_copy,
)
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.jobs.given_up import GivenUp, forget_given_up, read_given_up
from scratchflow.store.jobs.outputs import outputs_of_tasks
from scratchflow.store.jobs.records import (
    job_directory,
    make_job_directory,
    read_job,
    read_task,
    write_task,
)
from scratchflow.store.jobs.saved_rest import SavedRest, note_saved_rest
from scratchflow.workspace.workspace import STATE_NAME


def has_said_its_end(task: TaskRecord) -> bool:
    """Whether its last run has looked at what the command made when that was over: what it saved then stays."""
    return task.phase in {"requeued", "ended"} and task.code is not None and not task.error


def rest_collector(
    copy: Path,
    record: JobRecord,
    where: Path,
    *,
    only_newer: bool = False,
    beside: Path | None = None,
) -> Collector:
    """Collects what a run that is over has left in its copy, which nobody else uses. Directories that it closed are opened.

    The workspace's directory gets its name back that the command has given another. One that cannot be found is no
    reason to remove the copy: it says so, and stays.
    """
    work, mark = copy / record.workspace, read_mark(copy)
    misplaced = put_back(work, mark.inode) if mark else ""
    if mark and not mark.inode and not os.path.lexists(work):
        misplaced = (
            f"{record.workspace}/: the command was started in it, and has moved or removed it"
            f"{SAVED_ONCE}`{work}` again"
        )
    open_tree(work)
    return Collector(
        work,
        where,
        record.collect,
        all_of_it=True,
        only_newer=only_newer,
        beside=beside,
        since_ns=begun_ns(copy),
        misplaced=misplaced,
    )


def place_for_earlier(copy: Path, place: StoreDirectory, job: str, task: int, node: str) -> Path:
    """Where in the store goes what an earlier run has left on a node: `0@node-2`, of one after it `0@node-2.2`."""
    return _own_place(copy, job_directory(place, job).outputs(task, node))


def place_for_later(copy: Path, place: StoreDirectory, job: str, task: int, node: str) -> Path:
    """Where in the store files go that were found on a node when others of their names were saved already."""
    return _own_place(copy, job_directory(place, job).outputs(task, f"{node}.later"))


def _own_place(copy: Path, wanted: Path) -> Path:
    """This directory, or the next that is free when another copy's files are there. It is noted in the copy.

    Whoever looks at the same copy again, after something could not be saved, finds the same place. A scratch that is
    full takes no note: then all is saved once more in another place, which is better than not at all.
    """
    note = copy / STATE_NAME / f"place-{wanted.name}"
    with suppress(OSError, ValueError):
        return _numbered(wanted, int(note.read_bytes()))
    number = next(number for number in count(1) if not is_there(_numbered(wanted, number)))
    with suppress(OSError):
        make_private_directories(note.parent)
        replace_file(note, b"%d" % number)
    return _numbered(wanted, number)


def _numbered(place: Path, number: int) -> Path:
    return place if number == 1 else place.with_name(f"{place.name}.{number}")


def _is_of_earlier_run(copy: Path, here: NodeContext, task: TaskRecord) -> bool:
    """Whether a run on this node left it, after which the task was put back into the queue and started again."""
    mark = read_mark(copy)
    return mark is not None and mark.node == here.node and mark.restarts < task.restarts


def save_leftovers(
    here: NodeContext, place: StoreDirectory, parent: Path, own: str
) -> list[GivenUp]:
    """Saves and removes what tasks of this store have left in `parent`; `own` is left alone.

    Those that were given up are removed as they are, and returned. Trouble with one of them is no reason not to run the
    job: it stays for the next.
    """
    given_up: list[GivenUp] = []
    try:
        names = sorted(os.listdir(parent))
    except FileNotFoundError:
        return given_up
    for name in names:
        if is_removed_copy(name):
            with suppress(OSError):  # still written to; and another job may be removing it, too
                remove_tree(parent / name)
        known = task_of_copy(name)
        if known and name != own:
            with suppress(OSError, ScratchflowError):
                open_copy(parent / name)
                removed = _save(here, place, parent / name, *known)
                given_up += [removed] if removed else []
    return given_up


def unknown_copies(place: StoreDirectory, parent: Path) -> list[str]:
    """The names of copies in `parent` that no job will save: the store has no record of theirs, and they hold none."""
    found = []
    with suppress(OSError):
        for name in sorted(os.listdir(parent)):
            known = task_of_copy(name)
            if known and not is_there(job_directory(place, known[0]).path):
                mark = read_mark(parent / name)
                if mark is None or mark.job is None:
                    found.append(name)
    return found


def _save(
    here: NodeContext, place: StoreDirectory, copy: Path, job: str, task: int
) -> GivenUp | None:
    """Saves one of them, or removes what was given up, which is returned."""
    record, task_record = read_job(place, job), read_task(place, job, task)
    if record is None or task_record is None:
        return _save_without_record(here, place, copy, job, task)
    _save_with_record(here, place, copy, record, task_record)
    return None


def _save_with_record(
    here: NodeContext,
    place: StoreDirectory,
    copy: Path,
    record: JobRecord,
    task_record: TaskRecord,
) -> None:
    job, task = record.id, task_record.task
    is_earlier = _is_of_earlier_run(copy, here, task_record)
    if here.node not in {task_record.node, *task_record.further_nodes} and not is_earlier:
        return
    is_over = task_record.phase == "ended" or (
        task_record.job_id is not None and here.is_job_over(task_record.job_id)
    )
    if not is_earlier and not is_over:
        return
    with in_use(copy) as is_ours:
        if not is_ours:
            return
        # It may have been requeued meanwhile, and what is here may be the copy of the run that began then.
        if is_earlier and not _is_of_earlier_run(copy, here, task_record):
            return
        if not is_earlier and read_task(place, job, task) != task_record:
            return
        _save_rest(here, place, copy, record, task_record, is_over=is_over)


def _save_rest(
    here: NodeContext,
    place: StoreDirectory,
    copy: Path,
    record: JobRecord,
    task_record: TaskRecord,
    *,
    is_over: bool,
) -> None:
    """Saves what nobody else uses, and removes it when all is saved."""
    job, task = record.id, task_record.task
    is_earlier = _is_of_earlier_run(copy, here, task_record)
    is_further = here.node in task_record.further_nodes and not is_earlier
    # What is in the task's own directory, the run that goes on elsewhere may replace.
    where = job_directory(place, job).outputs(task, here.node if is_further else "")
    if is_earlier:
        where = place_for_earlier(copy, place, job, task, here.node)
    # What was saved at the task's end stays.
    stays = not is_earlier and has_said_its_end(task_record)
    beside = place_for_later(copy, place, job, task, here.node) if stays else None
    before = _counted(here, place, record, task_record)
    found = rest_collector(copy, record, where, beside=beside).collect()
    # A task that runs again writes its record itself; of further nodes it counts what they said.
    if is_over and read_task(place, job, task) == task_record:
        known = _counted(here, place, record, task_record)
        if is_earlier:
            known = _with_earlier(known, before, here.node, found)
        elif not is_further:
            known = _named(known, found)
        if not found.failed:
            known = _without_rest(known, here.node)
        elif not is_earlier:
            known = _with_rest(known, here.node, found.failed)
        write_task(place, job, known)
    elif is_earlier:
        rest = SavedRest(here.node, list(found.links_out), list(found.failed))
        note_saved_rest(place, job, task, rest)
    if not found.failed:
        remove_copy(copy)


def _save_without_record(
    here: NodeContext, place: StoreDirectory, copy: Path, job: str, task: int
) -> GivenUp | None:
    """Saves what a job has left whose record, or that of its task, is gone: with the record that lies in the copy.

    A record that is there and cannot be read is not replaced. What was given up with the record is only removed, and returned.
    """
    mark = read_mark(copy)
    if mark is None or mark.job is None or mark.task is None:
        return None
    is_it = (mark.node, mark.store, mark.job.id, mark.task.task) == (
        here.node,
        str(place.directory),
        job,
        task,
    )
    number = mark.task.job_id
    if not is_it or number is None or not here.is_job_over(number):
        return None
    with in_use(copy) as is_ours:
        if not is_ours or read_mark(copy) != mark:
            return None
        where = job_directory(place, job)
        given_up = read_given_up(place, job, task, here.node)
        # A record that is there again may be of somebody who wants the rest after all.
        if given_up and given_up.number == number and not is_there(where.path):
            remove_copy(copy)
            forget_given_up(place, given_up)
            return given_up
        is_further = here.node in mark.task.further_nodes
        left = rest_collector(
            copy,
            mark.job,
            where.outputs(task, here.node if is_further else ""),
            only_newer=True,
            beside=place_for_later(copy, place, job, task, here.node),
        )
        if left.has_something():
            if not is_there(where.record):
                make_job_directory(place, mark.job)
            found = left.collect()
            counted = _counted(here, place, mark.job, mark.task)
            known = counted if is_further else _named(counted, found)
            if found.failed:
                known = msgspec.structs.replace(known, not_collected=list(found.failed))
            else:
                known = _without_rest(known, here.node)
            if not is_there(where.task(task)):
                write_task(place, job, msgspec.structs.replace(known, put_back=True))
            if found.failed:
                return None
        remove_copy(copy)
    return None


def _with_rest(task: TaskRecord, node: str, failed: Sequence[str]) -> TaskRecord:
    """The record after some of what lay on this node was saved, and this was not."""
    others = [line for line in task.not_collected if line not in task.not_collected_of(node)]
    sign = f"{node}: " if node in task.further_nodes else ""
    lines = [f"{sign}{line}" for line in failed]
    return msgspec.structs.replace(task, not_collected=[*lines, *others])


def _without_rest(task: TaskRecord, node: str) -> TaskRecord:
    """The record after what lay on this node was saved."""
    # What another node than those of the last run had is of an earlier one, and these lines are not about it.
    is_of_last = node in {task.node, *task.further_nodes}
    done = task.not_collected_of(node) if is_of_last else []
    return msgspec.structs.replace(
        task,
        not_collected=[line for line in task.not_collected if line not in done],
        saved_on=[*dict.fromkeys([*task.saved_on, node])],
    )


def _with_earlier(task: TaskRecord, before: TaskRecord, node: str, found: Collected) -> TaskRecord:
    """The record after what an earlier run had left was saved, or some of it, beside the files of the last one."""
    others = {name: lines for name, lines in task.left_failed.items() if name != node}
    left = [node] if found.failed else []
    return msgspec.structs.replace(
        task,
        left_on=[*dict.fromkeys([*task.left_on, *left])],
        saved_on=[name for name in task.saved_on if name not in left],
        earlier_files=task.earlier_files + task.collected_files - before.collected_files,
        earlier_bytes=task.earlier_bytes + task.collected_bytes - before.collected_bytes,
        links_out=[*dict.fromkeys([*task.links_out, *found.links_out])],
        left_failed={**others, node: list(found.failed)} if found.failed else others,
    )


def _named(task: TaskRecord, found: Collected) -> TaskRecord:
    """The record with the first paths of what the task's first node has made, and what of it has no content there."""
    return msgspec.structs.replace(
        task,
        collected_paths=list(found.paths),
        left_out=list(found.left_out),
        links_out=list(found.links_out),
    )


def _counted(
    here: NodeContext, place: StoreDirectory, job: JobRecord, task: TaskRecord
) -> TaskRecord:
    """The record with what lies in the store of the task by now, wherever it was made, as `jobs outputs` lists it."""
    found = outputs_of_tasks(place, job, (task.task,))
    return msgspec.structs.replace(
        task,
        collected_files=len(found),
        collected_bytes=sum(one.size_bytes for one in found),
        collected_time=iso_time(here.now().timestamp()),
    )
