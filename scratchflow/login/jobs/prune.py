"""`jobs prune`: removes the records of jobs that ended long ago. What they made goes only when that is asked for."""

from __future__ import annotations

import time
from collections.abc import Sequence

from scratchflow.cluster.slurm.hostlist import expand
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.ends import goes_unsaved, in_words, name_of, way_home
from scratchflow.login.jobs.find import Jobs, known_jobs
from scratchflow.login.jobs.look import Looked, look_at, store_of
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.job import JobRecord, TaskRecord
from scratchflow.model.requests import PruneJobs
from scratchflow.model.results.jobs import JobKept, JobPruned, JobsPruned
from scratchflow.model.text import counted
from scratchflow.model.times import epoch
from scratchflow.model.units import format_size
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.jobs.given_up import GivenUp, note_given_up
from scratchflow.store.jobs.remove import Held, all_of, outputs_of, remove_job, sweep_removed


def prune_jobs(login: LoginHost, asked: PruneJobs) -> JobsPruned:
    """Removes the named jobs, or those that ended before `keep_jobs`; JobNotReady, with nothing removed, when a named one has to stay."""
    place = store_of(login)
    jobs = known_jobs(login, place)
    records = jobs.records
    named = [*{one.id: one for one in (_whole(jobs, wanted) for wanted in asked.wanted)}.values()]
    chosen = named or [record for record in records if _is_old(login, record.time)]
    looked = look_at(login, place, chosen)
    if not all(one.answered for one in looked):
        raise SlurmUnreachable(host=login.host, reason="it did not say which jobs have ended")
    if not named:
        looked = [one for one in looked if _is_old(login, _last_word(one))]
    kept, removed = _judged(place, looked, asked)
    if named and kept:
        name = kept[0].number or kept[0].job
        raise JobNotReady(problem=f"job {name} stays: {kept[0].why}", next_step=kept[0].next_step)
    if not asked.dry_run:
        sweep_removed(place)
        by_id = {one.record.id: one for one in looked}
        for one in removed:
            # First: killed in between, the job is listed yet, and what is on nodes is still saved.
            note_given_up(place, _copies(by_id[one.job]))
            remove_job(place, one.job)
    gone = {one.job for one in removed}
    needed = {record.snapshot for record in records if record.id not in gone}
    freed = {record.snapshot for record in records if record.id in gone} - needed
    if jobs.damaged:  # which snapshots those need is not known
        freed = set()
    return JobsPruned(
        removed=removed,
        kept=kept,
        unneeded_snapshots=sorted(freed),
        dry_run=asked.dry_run,
        older_than="" if named else str(login.profile.backup.keep_jobs),
    )


def _whole(jobs: Jobs, wanted: str) -> JobRecord:
    if len(alike := jobs.named(wanted)) > 1:
        numbers = ", ".join(str(record.number or record.id) for record in alike)
        problem = f"{len(alike)} jobs are named `{alike[0].name}`: {numbers}"
        raise JobNotReady(problem=problem, next_step="name those that are meant by their numbers")
    record, task = jobs.find(wanted)
    if task is not None:
        next_step = f"`scratchflow jobs prune {record.number or record.id}` removes all of it"
        raise JobNotReady(problem="the record of a single task stays", next_step=next_step)
    return record


def _is_old(login: LoginHost, moment: str) -> bool:
    keep_s = login.profile.backup.keep_jobs.seconds
    return keep_s is not None and time.time() - (epoch(moment) or time.time()) > keep_s


def _last_word(one: Looked) -> str:
    """When its last task ended, as far as anybody knows; when it was submitted otherwise."""
    ends = [task.end for task in one.slurm.tasks.values()] + [t.end for t in one.tasks.values()]
    return max([one.record.time, *(end for end in ends if end)], key=lambda end: epoch(end) or 0)


def _judged(
    place: StoreDirectory, looked: list[Looked], asked: PruneJobs
) -> tuple[list[JobKept], list[JobPruned]]:
    kept: list[JobKept] = []
    removed: list[JobPruned] = []
    for one in looked:
        record, made = one.record, outputs_of(place, one.record.id)
        why, next_step = _stays(one, made, asked)
        if why:
            kept.append(
                JobKept(
                    job=record.id,
                    number=record.number,
                    name=record.name,
                    why=why,
                    next_step=next_step,
                )
            )
            continue
        nodes = [*dict.fromkeys(copy.node for copy in _copies(one))]
        removed.append(
            JobPruned(
                job=record.id,
                number=record.number,
                name=record.name,
                time=record.time,
                output_files=made.files,
                output_bytes=made.bytes,
                bytes=all_of(place, record.id).bytes,
                given_up=bool(_unsaved_tasks(one) or one.damaged),
                given_up_on=nodes,
                rest=goes_unsaved(nodes) if nodes else "",
            )
        )
    return kept, removed


def _stays(one: Looked, made: Held, asked: PruneJobs) -> tuple[str, str]:
    """Why the job stays, and what to do about it; empty when it may go."""
    name = one.record.number or one.record.id
    if not one.is_over:
        return "it has not ended", f"`scratchflow cancel {name}` ends it"
    gives_up = f"`scratchflow jobs prune {name} --outputs` gives it up"
    is_agreed = asked.given_up is None or one.record.id in asked.given_up
    is_given_up = bool(asked.wanted and asked.outputs) and is_agreed
    unsaved = _unsaved_tasks(one)
    if unsaved and not is_given_up:
        return _unsaved(unsaved[0]), f"{way_home(unsaved[0])}; {gives_up}"
    if one.damaged and not is_given_up:
        why = f"the record of its task {one.damaged[0]} cannot be read, and not all that it made may be saved"
        return why, gives_up
    if made.files and not asked.outputs:
        why = f"it made {counted(made.files, 'file')} ({format_size(made.bytes)})"
        return why, f"`scratchflow jobs prune {name} --outputs` removes what it made as well"
    return "", ""


def _unsaved_tasks(one: Looked) -> list[TaskRecord]:
    return [task for task in one.tasks.values() if task.unsaved_on]


def _copies(one: Looked) -> list[GivenUp]:
    """What may lie on nodes of a job that is over. Of a task whose record cannot be read, Slurm says where it ran."""
    places: list[tuple[int, int | None, Sequence[str]]] = [
        (task.task, task.job_id, task.unsaved_on) for task in _unsaved_tasks(one)
    ]
    said = [one.end(task) for task in one.damaged]
    places += [(end.task, end.job_id, expand(end.node)) for end in said if end and end.node]
    return [
        GivenUp(
            job=one.record.id, task=task, number=number, node=node, shown=name_of(one.record, task)
        )
        for task, number, nodes in places
        for node in nodes
        if number is not None
    ]


def _unsaved(task: TaskRecord) -> str:
    nodes = in_words(task.unsaved_on)
    if task.not_collected:
        return f"not all that it made is saved, and the rest may be on {nodes}"
    return f"it ended without a word, and what it made last may be on {nodes}"
