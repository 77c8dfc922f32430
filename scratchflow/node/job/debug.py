"""`job debug`: a task of a submitted job once more on this node, beside the workspace, for a person to try things in.

The copy is kept, and what was changed in it: the next `jobs debug` of the same task finds it as it was left.
"""

from __future__ import annotations

import os
import shlex

from scratchflow.disk.durable import is_there, replace_file
from scratchflow.model.errors.jobs import JobMissing
from scratchflow.model.errors.workspace import WorkspaceFailed
from scratchflow.model.requests import DebugTask
from scratchflow.model.results.jobs import DebugReady
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.change import change_between
from scratchflow.node.environment.shell import bashrc_text, shell_text
from scratchflow.node.job.own_copy import OwnCopy
from scratchflow.node.job.place import debug_place
from scratchflow.node.progress import Notifier
from scratchflow.store.directory import find_place
from scratchflow.store.jobs.records import read_job

_TASK_VARIABLE = "SLURM_ARRAY_TASK_ID"


def prepare_debug(here: NodeContext, notify: Notifier, asked: DebugTask) -> DebugReady:
    """Restores the job's snapshot unless it is there already, and writes what a shell needs to run the command."""
    record = read_job(find_place(here.store, here.workspace.name), asked.job)
    if record is None:
        raise JobMissing(wanted=asked.job, detail="")
    target = debug_place(here.workspace, record.id, asked.task)
    copy = OwnCopy(target, record, asked.task)
    try:
        return _prepared(here, notify, copy)
    except OSError as error:
        path = error.filename or copy.target
        raise WorkspaceFailed(path=os.fsdecode(path), reason=error.strerror) from None


def _prepared(here: NodeContext, notify: Notifier, copy: OwnCopy) -> DebugReady:
    is_new = not is_there(copy.work)
    if is_new:
        copy.restore(here, notify)
    else:
        copy.move_venv(here)
    more = {_TASK_VARIABLE: str(copy.task)} if copy.record.is_array else {}
    environment = copy.environment(here, {**os.environ, **more})
    return _with_files(copy, environment, is_new=is_new, host=here.node)


def _with_files(
    copy: OwnCopy, environment: dict[str, str], *, is_new: bool, host: str
) -> DebugReady:
    variables = copy.state / "debug-environment.sh"
    change = change_between(os.environ, environment)
    replace_file(variables, shell_text(change).encode("utf-8", "surrogateescape"))
    command = " ".join(one_line(word) for word in copy.command)
    into = f"cd -- {shlex.quote(str(copy.directory))} || exit\n"
    script = copy.state / "debug.sh"
    text = f"#!/bin/bash\n. {shlex.quote(str(variables))}\n{into}exec {command}\n"
    replace_file(script, os.fsencode(text), mode=0o700)
    history, bashrc = copy.state / "debug-history", copy.state / "debug.bashrc"
    replace_file(history, os.fsencode(f"{command}\n"))
    # The shell reads it after its startup files, and so has the command one key away.
    more = f"HISTFILE={shlex.quote(str(history))}\n{into}"
    replace_file(bashrc, os.fsencode(f"{bashrc_text(str(variables))}{more}"))
    return DebugReady(
        job=copy.record.id,
        task=copy.task,
        directory=str(copy.directory),
        command=command,
        script=str(script),
        bashrc=str(bashrc),
        is_new=is_new,
        host=host,
    )


def one_line(word: str) -> str:
    """The word as bash reads it, without a line break in it: a history has one command a line."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = "".join(_escaped(byte) for byte in os.fsencode(word))
    return f"$'{escaped}'"


def _escaped(byte: int) -> str:
    letter = chr(byte)
    plain = letter.isascii() and letter.isprintable() and letter not in "'\\"
    return letter if plain else f"\\{byte:03o}"
