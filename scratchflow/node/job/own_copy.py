"""A task's own copy of the workspace: the snapshot at another path, and the command's words and environment there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.disk.private import make_private_directories
from scratchflow.experiments.command import PARAMETERS_VARIABLE, command_for, parameters_file
from scratchflow.model.errors.jobs import JobNotStarted
from scratchflow.model.job import JobRecord
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.environment import environment_of
from scratchflow.node.job.command import job_environment
from scratchflow.node.job.place import make_room
from scratchflow.node.job.venv import move_venv
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreOptions
from scratchflow.workspace.workspace import STATE_NAME


class OwnCopy(msgspec.Struct, frozen=True):
    """Where the copy is, or will be, and which task of which job it is for."""

    target: Path
    record: JobRecord
    task: int

    @property
    def work(self) -> Path:
        """The workspace in it."""
        return self.target / self.record.workspace

    @property
    def state(self) -> Path:
        """What is ours in it, beside the workspace."""
        return self.target / STATE_NAME

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of the task."""
        tasks = self.record.tasks
        return tasks[self.task] if self.task < len(tasks) else {}

    @property
    def command(self) -> list[str]:
        """The words of the task's command."""
        record = self.record
        return command_for(record.command, self.parameters, append=record.append)

    @property
    def directory(self) -> Path:
        """Where the command starts; JobNotStarted when the snapshot has no such directory."""
        directory = self.work / self.record.directory
        if not directory.is_dir():
            reason = f"there is no `{self.record.directory}` in snapshot {self.record.snapshot}"
            raise JobNotStarted(job=self.record.id, reason=reason)
        return directory

    def restore(self, here: NodeContext, notify: Notifier) -> None:
        """Brings the snapshot there: whole, or not at all. The live workspace is only read, for what is equal."""
        make_room(here.workspace, self.target)
        scratch = here.workspace.scratch
        wanted = RestoreOptions(snapshot=self.record.snapshot, to=self.target, warm=scratch)
        restore(here, notify, wanted)
        self.move_venv(here)

    def move_venv(self, here: NodeContext) -> None:
        """Lets a venv in the copy be one of its new path; does nothing to one that is."""
        venv = here.profile.environment.venv
        if venv and not venv.startswith(("/", "~", "$")):
            move_venv(self.target / venv)

    def environment(self, here: NodeContext, base: Mapping[str, str]) -> dict[str, str]:
        """The profile's environment at the copy, with the file of the task's parameters and what a spec adds."""
        workspace = msgspec.structs.replace(here.workspace, scratch=self.target)
        there = msgspec.structs.replace(here, workspace=workspace)
        found = environment_of(there, job_environment(base, self.record.id))
        file = self.state / "params.json"
        make_private_directories(file.parent)
        file.write_bytes(parameters_file(self.parameters))
        given = {**found, **self.record.variables, PARAMETERS_VARIABLE: str(file)}
        more = [str(self.work / path) for path in self.record.python_path]
        if more:
            before = given.get("PYTHONPATH", "")
            given["PYTHONPATH"] = os.pathsep.join([*([before] if before else []), *more])
        return given
