"""`jobs debug`: a failed task on the node that is held now, with its command ready in a shell."""

from __future__ import annotations

import msgspec

from scratchflow.dispatch.cluster import Caller, cluster_of
from scratchflow.flows.run.run import run
from scratchflow.flows.run.start import Wanted
from scratchflow.model.events import Emit, Log
from scratchflow.model.requests import DebugTask, OneJob
from scratchflow.model.results.jobs import DebugReady, JobInspected, JobShown
from scratchflow.model.text import printable

_OPEN = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "SUBMITTING", "COMPLETED")


def debug(caller: Caller, emit: Emit, wanted: str, *, opens_shell: bool) -> DebugReady:
    """Prepares it, and with `opens_shell` opens a shell there; without, it is told how to run the command."""
    with cluster_of(caller.settings(), caller, emit) as cluster:
        found = cluster.on_login("jobs show", OneJob(wanted=wanted), JobInspected)
        task = found.task if found.task is not None else chosen_task(found.job)
        asked = DebugTask(job=found.job.job, task=task)
        ready = cluster.at_workspace("job debug", asked, DebugReady)
    if not opens_shell:
        return ready
    for line in in_words(ready):
        emit(Log(level="info", message=line))
    # bash, whatever the user's shell is: it is the one that has the command in its history.
    command = ("bash", "--rcfile", ready.bashrc, "-i")
    ended = run(caller, emit, Wanted(command=command, cwd=ready.directory, terminal=True))
    return msgspec.structs.replace(ready, code=ended.code)


def chosen_task(job: JobShown) -> int:
    """The first that did not end well; without one the first."""
    failed = [task.task for task in job.tasks if task.state not in _OPEN]
    return [*failed, *(task.task for task in job.tasks), 0][0]


def in_words(ready: DebugReady) -> list[str]:
    """What whoever sits in the shell has to know."""
    state = "its files" if ready.is_new else "its files as you left them"
    return [
        printable(f"task {ready.task}: {state} are in `{ready.directory}`; no backup saves them"),
        printable(f"the key ↑ brings its command: {ready.command}"),
    ]
