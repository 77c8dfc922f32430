"""The editor on the workspace: the command that opens it, and a link that does the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from urllib.parse import quote

from scratchflow.config.settings import Settings
from scratchflow.dispatch.cluster import Caller, cluster_of
from scratchflow.flows.status import seen_on
from scratchflow.model.errors.allocation import AllocationMissing, AllocationWaiting
from scratchflow.model.errors.run import EditorMissing
from scratchflow.model.errors.ssh import AliasBehind
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.events import Emit, Warned
from scratchflow.model.results.status import StatusShown
from scratchflow.model.results.up import EditorOpened

EDITORS = ("code", "code-insiders", "codium", "cursor")
_OPEN_S = 10.0


def open_workspace(caller: Caller, emit: Emit, *, run: bool) -> EditorOpened:
    """Opens VS Code on the alias at the workspace; without `run` only says how."""
    settings = caller.settings()
    with cluster_of(settings, caller, emit, once=True) as cluster:
        seen = seen_on(cluster)
    if seen.allocation is not None and seen.allocation.state == "pending":
        raise AllocationWaiting.of_job(seen.allocation.job_id, seen.allocation.reason)
    if settings.profile.scheduler == "slurm" and (
        seen.allocation is None or seen.allocation.state != "running"
    ):
        raise AllocationMissing(profile=settings.name)
    _require_something_to_open(seen, emit)
    workspace = seen.workspace
    return opened(settings, workspace.path, caller.environment, run=run, exists=workspace.exists)


def _require_something_to_open(seen: StatusShown, emit: Emit) -> None:
    """An editor on a folder that is not there, or on a node that is not ours, says nothing that helps."""
    node = seen.allocation.node if seen.allocation else None
    if seen.alias is not None and seen.alias.target != node:
        where = f"leads to `{seen.alias.target}`" if seen.alias.target else "is parked"
        raise AliasBehind(node=node or "?", alias=seen.alias.name, where=where)
    if seen.workspace.exists is False:
        raise WorkspaceMissing(path=seen.workspace.path)
    if seen.workspace.exists is None:
        message = f"whether there is a workspace at `{seen.workspace.path}` is not known; `scratchflow up` makes sure"
        emit(Warned(code="workspace.unknown", message=message))


def opened(
    settings: Settings,
    path: str,
    environment: Mapping[str, str],
    *,
    run: bool,
    exists: bool | None = None,
) -> EditorOpened:
    """The command and the link; run, if that is wanted."""
    editor = next(
        (name for name in EDITORS if shutil.which(name, path=environment.get("PATH"))), EDITORS[0]
    )
    remote = settings.profile.scheduler == "slurm"
    host = f"ssh-remote+{settings.profile.alias}"
    command = [editor, "--remote", host, path] if remote else [editor, path]
    where = f"vscode-remote/{host}" if remote else "file"
    link = f"vscode://{where}{quote(path)}"
    if run:
        _run(command, environment)
    return EditorOpened(
        path=path,
        command=command,
        link=link,
        opened=run,
        host=settings.profile.alias if remote else None,
        exists=exists,
        has_editor=shutil.which(editor, path=environment.get("PATH")) is not None,
    )


def _run(command: list[str], environment: Mapping[str, str]) -> None:
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        raise EditorMissing(problem=f"there is no command `{command[0]}` on this machine")
    # Its words are for people: standard output is ours.
    editor = subprocess.Popen(
        [program, *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        start_new_session=True,
    )
    try:
        failed = editor.wait(_OPEN_S) != 0
    except subprocess.TimeoutExpired:  # it stays in the foreground: it is open
        editor.returncode = 0  # and outlives us: no warning that it was not waited for
        return
    if failed:
        raise EditorMissing(problem=f"`{command[0]}` failed to open the workspace")
