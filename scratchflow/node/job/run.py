"""`job run`: a submitted job on its node, from the restored snapshot to the record of its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from scratchflow.cluster.slurm.batch.script import ERROR_FD, OUTPUT_FD
from scratchflow.disk.durable import is_there
from scratchflow.disk.private import make_private_directories
from scratchflow.disk.trees import remove_tree
from scratchflow.experiments.command import PARAMETERS_VARIABLE, command_for, parameters_file
from scratchflow.model.errors import JobMissing, JobNotStarted, ScratchflowError
from scratchflow.model.job import JobRecord, TaskRecord
from scratchflow.model.requests import RunJob
from scratchflow.model.results import JobRan
from scratchflow.model.times import iso_time
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.environment import environment_of
from scratchflow.node.job.collect import Collected, Collector
from scratchflow.node.job.command import (
    JobSignals,
    Started,
    job_argv,
    job_environment,
    run_to_end,
)
from scratchflow.node.job.leftovers import CopyMark, in_use, mark_copy, save_leftovers
from scratchflow.node.job.place import job_place, make_room
from scratchflow.node.job.venv import move_venv
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreOptions
from scratchflow.process.git import state_of
from scratchflow.process.interrupted import Interrupted
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.jobs.records import job_directory, read_job, write_task
from scratchflow.workspace.workspace import STATE_NAME

_GOT = {"cpus": "SLURM_CPUS_ON_NODE", "memory_mb": "SLURM_MEM_PER_NODE", "gpus": "SLURM_GPUS"}


def run_job(here: NodeContext, notify: Notifier, asked: RunJob) -> JobRan:
    """Restores, runs, collects, and writes how it went. Its exit code is the command's."""
    place = find_place(here.store, here.workspace.name)
    record = read_job(place, asked.job)
    if record is None:
        raise JobMissing(wanted=asked.job, detail="")
    return _Task(here, notify, place, record, os.environ).run(overlap=asked.overlap)


class _Task:
    """One task of a job, and what its record says by now."""

    def __init__(
        self,
        here: NodeContext,
        notify: Notifier,
        place: StoreDirectory,
        record: JobRecord,
        environment: Mapping[str, str],
    ) -> None:
        self._here, self._notify, self._place = here, notify, place
        self._record, self._environment = record, environment
        self.number = int(environment.get("SLURM_ARRAY_TASK_ID") or 0)
        self._target = job_place(here.workspace, environment, record.id, self.number)
        self._work = self._target / record.workspace
        self._outputs = job_directory(place, record.id).outputs(self.number)
        self._said = TaskRecord(
            task=self.number,
            job_id=here.job_id,
            node=here.node,
            phase="restoring",
            start=self._now(),
            restarts=int(environment.get("SLURM_RESTART_COUNT") or 0),
            directory=str(self._target),
            got={name: environment[key] for name, key in _GOT.items() if environment.get(key)},
        )
        # Whether the copy holds nothing that is not in the store: before the command runs, and after all was collected.
        self._is_saved = True

    def run(self, *, overlap: bool) -> JobRan:
        self._save_what_was_left()
        save_leftovers(self._here, self._place, self._target.parent, self._target.name)
        self._tell()
        signals = JobSignals()
        try:
            self._restore()
            collector = Collector(self._work, self._outputs, self._record.collect)
            started = self._started(overlap=overlap)
            self._tell(phase="running", git=self._record.git or state_of(self._work, os.environ))
            with in_use(self._target), signals.caught():
                every_s = self._here.profile.backup.every.seconds
                self._is_saved = False
                code = run_to_end(started, signals, lambda: self._try_to_save(collector), every_s)
                # Whatever comes now: what was made is saved first.
                self._collect(collector)
                self._is_saved = not self._said.not_collected
                ended_by = signal.SIGTERM.name if signals.ends else ""
                self._tell(phase="ended", code=code, ended_by=ended_by, end=self._now())
        except (ScratchflowError, OSError) as error:
            with suppress(ScratchflowError, OSError):  # the store may be what failed
                self._tell(phase="ended", error=str(error), end=self._now())
            raise JobNotStarted(job=self._record.id, reason=error) from error
        except Interrupted as ended:
            name = signal.Signals(ended.signum).name
            self._tell(phase="ended", ended_by=name, end=self._now())
            raise
        finally:
            self._remove()
        files = self._said.collected_files
        return JobRan(job=self._record.id, task=self.number, code=code, collected_files=files)

    def _save_what_was_left(self) -> None:
        """A run of this task that died with its node may have left outputs that nobody has collected."""
        if not is_there(self._target):
            return
        left = Collector(self._work, self._outputs, self._record.collect, all_of_it=True)
        self._count(left.collect())
        if self._said.not_collected:
            first = self._said.not_collected[0]
            reason = (
                f"what an earlier run of it has left in `{self._target}` cannot be saved: {first}"
            )
            raise JobNotStarted(job=self._record.id, reason=reason)
        remove_tree(self._target)

    def _restore(self) -> None:
        if int(self._environment.get("SLURM_JOB_NUM_NODES") or 1) > 1:
            reason = (
                "it has several nodes, and its copy of the workspace would be on one of them only"
            )
            raise JobNotStarted(job=self._record.id, reason=reason)
        make_room(self._here.workspace, self._target)
        options = RestoreOptions(snapshot=self._record.snapshot, to=self._target)
        restore(self._here, self._notify, options)
        mark_copy(self._target, CopyMark(self._said.node, self._said.restarts))
        venv = self._here.profile.environment.venv
        if venv and not venv.startswith(("/", "~", "$")):
            move_venv(self._target / venv)

    def _started(self, *, overlap: bool) -> Started:
        workspace = msgspec.structs.replace(self._here.workspace, scratch=self._target)
        there = msgspec.structs.replace(self._here, workspace=workspace)
        own = job_environment(self._environment, self._record.id)
        environment = self._with_parameters(environment_of(there, own))
        directory = self._work / self._record.directory
        if not directory.is_dir():
            reason = f"there is no `{self._record.directory}` in snapshot {self._record.snapshot}"
            raise JobNotStarted(job=self._record.id, reason=reason)
        script = bool(self._record.script)
        record, given = self._record, self._parameters
        command = command_for(record.command, given, append=record.append)
        argv = job_argv(command, environment, script=script, overlap=overlap)
        return Started(argv, directory, environment, OUTPUT_FD, ERROR_FD)

    @property
    def _parameters(self) -> dict[str, Any]:
        tasks = self._record.tasks
        return tasks[self.number] if self.number < len(tasks) else {}

    def _with_parameters(self, environment: dict[str, str]) -> dict[str, str]:
        """With the file of the task's parameters, beside the workspace, and what a spec adds."""
        file = self._target / STATE_NAME / "params.json"
        make_private_directories(file.parent)
        file.write_bytes(parameters_file(self._parameters))
        given = {**environment, **self._record.variables, PARAMETERS_VARIABLE: str(file)}
        more = [str(self._work / path) for path in self._record.python_path]
        if more:
            before = given.get("PYTHONPATH", "")
            given["PYTHONPATH"] = os.pathsep.join([*([before] if before else []), *more])
        return given

    def _try_to_save(self, collector: Collector) -> None:
        """While the command runs: a store that is full or away now is no reason to end it."""
        with suppress(ScratchflowError, OSError):
            self._collect(collector)

    def _collect(self, collector: Collector) -> None:
        self._count(collector.collect())
        self._tell()

    def _count(self, found: Collected) -> None:
        self._said = msgspec.structs.replace(
            self._said,
            collected_files=found.files,
            collected_bytes=found.bytes,
            collected_paths=list(found.paths),
            not_collected=list(found.failed),
            collected_time=self._now(),
        )

    def _tell(self, **changes: Any) -> None:
        self._said = msgspec.structs.replace(self._said, **changes)
        write_task(self._place, self._record.id, self._said)

    def _now(self) -> str:
        return iso_time(self._here.now().timestamp()) or ""

    def _remove(self) -> None:
        """Only when what is worth keeping is in the store; what is left is saved by the next job on this node."""
        if not self._is_saved:
            return
        # The directory above stays: another task may be about to restore into it.
        with suppress(OSError):
            remove_tree(self._target)
