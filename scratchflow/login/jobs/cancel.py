"""`cancel`: ends submitted jobs, or single tasks of them; never the job that holds a node."""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.cluster.slurm.batch.names import batch_name
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.ends import name_of
from scratchflow.login.jobs.find import Jobs, find_job, known_jobs
from scratchflow.login.jobs.look import Looked, is_end, look_at, store_of
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.job import JobRecord
from scratchflow.model.requests import CancelJobs
from scratchflow.model.results.jobs import JobsCancelled
from scratchflow.store.directory import StoreDirectory

_GONE = "invalid job id"


def cancel_jobs(login: LoginHost, asked: CancelJobs) -> JobsCancelled:
    """Cancels what is open of them. Outputs are collected by the job itself, after Slurm's SIGTERM."""
    place = store_of(login)
    chosen = _chosen(login, place, asked)
    looked = look_at(login, place, [record for record, _ in chosen])
    cancelled: list[str] = []
    names: list[str] = []
    ended: list[JobRecord] = []
    _require_answer(login, looked)
    for one, (_, task) in zip(looked, chosen, strict=True):
        open_tasks = [number for number in _meant(one, task) if not is_end(one.state(number))]
        if open_tasks and one.record.number is not None:
            targets = _targets(one.record, task)
            if not asked.dry_run:
                _scancel(login, one.record, targets)
                ended.append(one.record)
            cancelled += targets
            names.append(one.record.name)
    look_at(login, place, ended)  # notes the ends of what never started: soon Slurm forgets them
    if asked.wanted and not cancelled:
        name = looked[0].record.number or looked[0].record.id
        next_step = f"`scratchflow jobs show {name}` tells how"
        raise JobNotReady(problem=f"job {name} has ended already", next_step=next_step)
    return JobsCancelled(cancelled=cancelled, names=names, dry_run=asked.dry_run)


def _chosen(
    login: LoginHost, place: StoreDirectory, asked: CancelJobs
) -> list[tuple[JobRecord, int | None]]:
    jobs = known_jobs(login, place)
    if asked.wanted:
        found = (_found(login, place, jobs, wanted) for wanted in asked.wanted)
        return [*{(record.id, task): (record, task) for record, task in found}.values()]
    tagged = [record for record in jobs.records if not asked.tag or asked.tag in record.tags]
    return [(record, None) for record in tagged]


def _found(
    login: LoginHost, place: StoreDirectory, jobs: Jobs, wanted: str
) -> tuple[JobRecord, int | None]:
    """Of several jobs of one name, the one that is open: nothing is guessed about what is ended."""
    alike = jobs.named(wanted)
    if len(alike) < 2:
        return jobs.find(wanted)
    looked = look_at(login, place, alike)
    _require_answer(login, looked)
    still_open = [one.record for one in looked if _is_open(one)]
    if len(still_open) > 1:
        numbers = [str(record.number or record.id) for record in still_open]
        problem = f"{len(numbers)} open jobs are named `{still_open[0].name}`: {', '.join(numbers)}"
        next_step = f"name one by its number, or all: `scratchflow cancel {' '.join(numbers)}`"
        raise JobNotReady(problem=problem, next_step=next_step)
    return find_job(still_open or alike, wanted)


def _is_open(one: Looked) -> bool:
    return any(not is_end(one.state(number)) for number in one.record.task_numbers)


def _require_answer(login: LoginHost, looked: Sequence[Looked]) -> None:
    if not all(one.answered for one in looked):
        raise SlurmUnreachable(host=login.host, reason="it did not say which jobs are open")


def _meant(one: Looked, task: int | None) -> list[int]:
    return one.record.task_numbers if task is None else [task]


def _targets(record: JobRecord, task: int | None) -> list[str]:
    return [str(record.number) if task is None else name_of(record, task)]


def _scancel(login: LoginHost, record: JobRecord, targets: list[str]) -> None:
    """Slurm compares name and user once more: a number may have been given out again."""
    who = [f"--user={login.slurm.user}", f"--name={batch_name(record.name, record.id)}"]
    done = login.slurm.ask(["scancel", *who, *targets])
    if done.returncode != 0 and _GONE not in done.error_text.lower():
        raise login.slurm.unreachable(done.last_line)
