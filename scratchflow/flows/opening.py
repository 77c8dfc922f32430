"""The editor on the workspace: the command that opens it, and a link that does the same."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from urllib.parse import quote

from scratchflow.config.settings import Settings
from scratchflow.flows.anywhere import Caller, cluster_of
from scratchflow.flows.status import seen_on
from scratchflow.model.errors import AllocationMissing, EditorMissing
from scratchflow.model.events import Emit
from scratchflow.model.results import EditorOpened

EDITORS = ("code", "code-insiders", "codium", "cursor")
_OPEN_S = 60.0


def open_workspace(caller: Caller, emit: Emit, *, run: bool) -> EditorOpened:
    """Opens VS Code on the alias at the workspace; without `run` only says how."""
    settings = caller.settings()
    with cluster_of(settings, caller, emit) as cluster:
        seen = seen_on(cluster)
    if settings.profile.scheduler == "slurm" and (
        seen.allocation is None or seen.allocation.state != "running"
    ):
        raise AllocationMissing(profile=settings.name)
    return opened(settings, seen.workspace.path, caller.environment, run=run)


def opened(
    settings: Settings, path: str, environment: Mapping[str, str], *, run: bool
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
    return EditorOpened(path=path, command=command, link=link, opened=run)


def _run(command: list[str], environment: Mapping[str, str]) -> None:
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        raise EditorMissing(editor=command[0])
    try:
        done = subprocess.run(
            [program, *command[1:]], stdin=subprocess.DEVNULL, timeout=_OPEN_S, check=False
        )
    except subprocess.TimeoutExpired:
        return  # it stays in the foreground: it is open
    if done.returncode != 0:
        raise EditorMissing(editor=command[0])
