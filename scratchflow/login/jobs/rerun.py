"""`jobs rerun`: the same snapshot, command and parameters once more, as a new job with a record of its own."""

from __future__ import annotations

import time

import msgspec

from scratchflow import __version__
from scratchflow.cluster.slurm.batch.script import sbatch_lines, words_of
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.environment_lacking import require_environment
from scratchflow.login.jobs.find import known_jobs
from scratchflow.login.jobs.limits import require_startable
from scratchflow.login.jobs.look import Looked, has_failed, look_at, store_of
from scratchflow.login.jobs.new_record import new_job_id
from scratchflow.login.jobs.resources import left_to_script
from scratchflow.login.jobs.snapshot_file import read_in_snapshot, require_directory
from scratchflow.login.jobs.submit import submit_record
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.job import JobRecord
from scratchflow.model.requests import RerunJob
from scratchflow.model.results.jobs import Submitted
from scratchflow.model.times import iso_time
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory


def rerun_job(login: LoginHost, asked: RerunJob) -> Submitted:
    """Submits it again; with `failed` only the tasks that ended, and not well. SnapshotMissing if its code is gone."""
    place = store_of(login)
    record, task = known_jobs(login, place).find(asked.wanted)
    chosen = [task] if task is not None else list(record.chosen)
    if asked.failed:
        (looked,) = look_at(login, place, [record])
        chosen = _failed(looked, chosen or record.task_numbers)
    again = msgspec.structs.replace(
        record,
        id=new_job_id(),
        time=iso_time(time.time()) or "",
        chosen=[] if len(chosen) == len(record.tasks) else chosen,
        slurm={**record.slurm, **asked.slurm},
        snapshot=_snapshot(place, record, asked),
        git=asked.git if asked.snapshot or asked.newest else record.git,
        rerun_of=record.id,
        number=None,
        not_submitted="",
        host=login.host,
        tool_version=__version__,
    )
    lines = _lines(place, again)
    script = left_to_script(again.slurm, words_of(lines), again.sbatch)
    again = msgspec.structs.replace(again, script_slurm=script)
    require_startable(login, again, lines, asked.slurm)
    if not asked.snapshot:  # one that was taken just now has what the workspace has
        failed = "--failed " if asked.failed else ""
        now_command = f"scratchflow jobs rerun {failed}--current {asked.wanted}"
        as_it_is = f"`{now_command}` runs it from the workspace as it is now"
        require_environment(login, place, again.snapshot, as_it_is)
    return submit_record(login, place, again, lines, dry_run=asked.dry_run)


def _failed(looked: Looked, tasks: list[int]) -> list[int]:
    failed = [task for task in tasks if has_failed(looked.state(task))]
    if not failed:
        name = looked.record.number or looked.record.id
        if any(has_failed(looked.state(task)) for task in looked.record.task_numbers):
            problem = f"task {', '.join(map(str, tasks))} of job {name} has not failed"
            next_step = f"`scratchflow jobs rerun --failed {name}` runs those again that have"
            raise JobNotReady(problem=problem, next_step=next_step)
        problem = f"no task of job {name} has failed"
        next_step = f"`scratchflow jobs rerun {name}` runs all of it again"
        raise JobNotReady(problem=problem, next_step=next_step)
    return failed


def _snapshot(place: StoreDirectory, record: JobRecord, asked: RerunJob) -> str:
    """The job's own, or the one that was asked for."""
    if not asked.newest:
        return asked.snapshot or record.snapshot
    latest = read_catalogue(place).latest
    return record.snapshot if latest is None else latest.id


def _lines(place: StoreDirectory, record: JobRecord) -> list[str]:
    """The `#SBATCH` lines of its script; UsageInvalid when the snapshot has not what the job needs."""
    manifest = read_catalogue(place).by_id(record.snapshot)
    if record.directory:
        require_directory(place, manifest, record.directory)
    if not record.script:
        return []
    text = read_in_snapshot(place, manifest, record.script)
    return sbatch_lines(text.decode("utf-8", "surrogateescape"))
