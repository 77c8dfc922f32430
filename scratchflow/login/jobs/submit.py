"""`submit`, on the login host: the record first, then `sbatch`, once, then Slurm's number into the record.

Killed anywhere in between, there is a record without a number; `jobs` finds the job by its name.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from scratchflow.agent.name import agent_command
from scratchflow.agent.request import asking, encode
from scratchflow.cluster.command import local_run
from scratchflow.cluster.job_variables import for_sbatch
from scratchflow.cluster.signals import held_back
from scratchflow.cluster.slurm.batch.early_signal import early_signal
from scratchflow.cluster.slurm.batch.sbatch import (
    SAVE_BEFORE_END_S,
    Batch,
    submit_batch,
)
from scratchflow.cluster.slurm.batch.script import (
    batch_script,
    holding_option,
    words_of,
)
from scratchflow.cluster.slurm.batch.trial import try_batch
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.disk.durable import is_there, replace_file
from scratchflow.disk.trees import remove_tree
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.environment_lacking import require_environment
from scratchflow.login.jobs.new_record import Planned, plan_records, require_possible
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.jobs import JobInDoubt, JobRefused, JobsPartlySubmitted
from scratchflow.model.errors.slurm import SlurmMissing
from scratchflow.model.errors.snapshots import SnapshotMissing
from scratchflow.model.job import JobRecord
from scratchflow.model.profile import SlurmOptions, to_plain
from scratchflow.model.requests import RunJob, StoreSeen, Submit
from scratchflow.model.results.jobs import Submitted, TaskPlanned
from scratchflow.model.times import iso_time
from scratchflow.node.same_store import store_seen_here
from scratchflow.reach.installing import install_for
from scratchflow.reach.node import steps_overlap
from scratchflow.ssh.transport.local import LocalTransport
from scratchflow.store.directory import FILE_MODE, StoreDirectory, find_place
from scratchflow.store.failures import store_errors
from scratchflow.store.jobs.records import (
    JobDirectory,
    job_directory,
    make_job_directory,
    write_job,
)
from scratchflow.workspace.workspace import expand

_SHOWN_TASKS = 10
_ONCE_IT_IS_SAVED = (
    "run this command again when it is on the node: a backup takes it,"
    " unless `.scratchignore` or `backup.exclude` leaves it out"
)


def submit(login: LoginHost, asked: Submit) -> Submitted:
    """Submits the job; JobRefused, with no record left, when Slurm does not take it."""
    require_possible(login, asked)
    place = find_place(_store(login), login.profile.workspace)
    planned = plan_records(login, place, asked)
    if asked.snapshot or not asked.dry_run:  # else it runs from one that is yet to be taken
        require_environment(login, place, planned.records[0].snapshot, _ONCE_IT_IS_SAVED)
    first, *others = _submit_all(login, place, planned, dry_run=asked.dry_run)
    numbers = [other.number for other in others if other.number is not None]
    tasks = first.tasks + sum(other.tasks for other in others)
    return msgspec.structs.replace(first, tasks=tasks, more=numbers)


def _submit_all(
    login: LoginHost,
    place: StoreDirectory,
    planned: Planned,
    *,
    dry_run: bool,
) -> list[Submitted]:
    """One after the other. When one fails, those before it stay, and those that Slurm has not got can be rerun."""
    records = planned.records
    if dry_run:
        return [submit_record(login, place, one, planned.lines, dry_run=True) for one in records]
    done: list[Submitted] = []
    for number, record in enumerate(records):
        try:
            done.append(submit_record(login, place, record, planned.lines))
        except ScratchflowError as error:
            # One in doubt has its record already, and may be in the queue.
            in_doubt = isinstance(error, JobInDoubt)
            left = records[number + 1 :] if in_doubt else records[number:]
            if not done and not (in_doubt and left):
                raise
            raise _partly(place, records, done, left, error) from error
    return done


def _partly(
    place: StoreDirectory,
    records: list[JobRecord],
    done: list[Submitted],
    left: list[JobRecord],
    error: ScratchflowError,
) -> JobsPartlySubmitted:
    for record in left:
        never = msgspec.structs.replace(record, not_submitted=iso_time(time.time()) or "")
        make_job_directory(place, never)
    partly = JobsPartlySubmitted(
        submitted=sum(one.tasks for one in done),
        tasks=sum(len(record.tasks) for record in records),
        jobs=", ".join(f"job {one.number}" for one in done) or "no job",
        reason=error,
        next_step=", ".join(f"`scratchflow jobs rerun {record.id}`" for record in left)
        + (" submits the rest from the same snapshot" if left else "`scratchflow jobs` finds out"),
    )
    partly.exit_code = error.exit_code
    return partly


def _first_tasks(record: JobRecord) -> list[TaskPlanned]:
    numbers = [number for number in record.task_numbers[:_SHOWN_TASKS] if record.tasks[number]]
    return [TaskPlanned(task=number, parameters=record.tasks[number]) for number in numbers]


def submit_record(
    login: LoginHost,
    place: StoreDirectory,
    record: JobRecord,
    lines: list[str],
    *,
    dry_run: bool = False,
) -> Submitted:
    """The same for a record that is complete but for Slurm's number; `lines` are a script's own `#SBATCH`."""
    where = job_directory(place, record.id)
    batch = _batch(record, where)
    done = Submitted(
        job=record.id,
        number=None,
        name=record.name,
        tasks=len(record.task_numbers),
        snapshot=record.snapshot,
        directory=str(where.path),
        command=batch.argv(),
        dry_run=dry_run,
    )
    if dry_run:
        if doubt := try_batch(_slurm(login), batch, words_of(lines)):
            login.caution("job.doubtful", doubt)
        asks = record.script_slurm
        first = _first_tasks(record)
        return msgspec.structs.replace(done, runs=record.command, first=first, script_slurm=asks)
    mirror, name = login.profile.backup.mirror, login.profile.workspace
    seen = store_seen_here(_store(login), name, login.home, login.emit, make=True, mirror=mirror)
    install_for(login.settings, LocalTransport(), login.emit)
    request = _request(login, record, seen)
    # An interruption between the order and the note of its number would leave the number to be looked up.
    with held_back():
        make_job_directory(place, record)
        try:
            _require_there(place, record.snapshot)
            _write(where.request, request)
            script = batch_script(agent_command(), str(where.request), str(where.agent_log), lines)
            _write(where.script, os.fsencode(script))
            number = submit_batch(_slurm(login), batch, login.clock)
        except (JobRefused, SlurmMissing, SnapshotMissing):
            remove_tree(where.path)
            raise
        write_job(place, msgspec.structs.replace(record, number=number))
    if held := holding_option([*batch.options.extra, *batch.more, *words_of(lines)]):
        login.remark(
            f"`{held}` was asked for: job {number} does not start before `scontrol release {number}` is typed on the login host"
        )
    return msgspec.structs.replace(done, number=number)


def _require_there(place: StoreDirectory, snapshot: str) -> None:
    """A prune that did not see the record yet may have removed it; one that comes later sees the record."""
    with store_errors(place.directory):
        if not is_there(place.manifest(snapshot)):
            raise SnapshotMissing(
                wanted=snapshot, next_step="it was pruned just now; submit once more"
            )


def _batch(record: JobRecord, where: JobDirectory) -> Batch:
    logs = str(where.logs).replace("%", "%%")
    task = "%a" if record.is_array else "0"
    return Batch(
        job=record.id,
        name=record.name,
        options=msgspec.convert(record.slurm, SlurmOptions),
        script=str(where.script),
        output=f"{logs}/{task}.out",
        error=f"{logs}/{task}.err",
        tasks=tuple(record.task_numbers) if record.is_array else (),
        max_parallel=record.max_parallel,
        signal_before_end_s=early_signal(record.signal).seconds
        if record.signal
        else SAVE_BEFORE_END_S,
        may_requeue=record.continues > 0,
        more=tuple(record.sbatch),
    )


def _request(login: LoginHost, record: JobRecord, seen: StoreSeen | None) -> bytes:
    arguments = RunJob(job=record.id, overlap=steps_overlap(login.environment))
    asked = asking(
        "job run",
        msgspec.to_builtins(arguments),
        profile_name=login.settings.name,
        profile=to_plain(login.profile),
        hold_stdin=False,
    )
    return encode(msgspec.structs.replace(asked, store_seen=seen))


def _write(file: Path, content: bytes) -> None:
    with store_errors(file.parent):
        replace_file(file, content, mode=FILE_MODE)


def _slurm(login: LoginHost) -> Slurm:
    """Slurm for `sbatch`: the job inherits this environment, so none of our own settings for reading answers is in it."""
    return msgspec.structs.replace(login.slurm, run=local_run(for_sbatch(login.environment)))


def _store(login: LoginHost) -> Path:
    return expand(login.profile.store, login.environment)
