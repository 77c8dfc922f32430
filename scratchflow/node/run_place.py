"""`run place`, on the node: where a command of `run` and `shell` starts, and with which environment."""

from __future__ import annotations

import os

from scratchflow.model.errors.run import RunDirectoryMissing
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.model.requests import NOTHING, RunAt
from scratchflow.model.results.run import RunPlace
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier


def run_place(here: NodeContext, notify: Notifier, asked: RunAt) -> RunPlace:
    """The workspace. WorkspaceMissing when it is not there, RunDirectoryMissing when the directory in it is not."""
    path = here.workspace.path
    if not path.is_dir():
        raise WorkspaceMissing(path=path)
    directory = os.path.join(path, os.fsdecode(asked.cwd))
    if not os.path.isdir(directory):
        raise RunDirectoryMissing(path=directory, node=here.node)
    return RunPlace(directory=str(path), sourced=environment_file(here, notify))


def environment_file(here: NodeContext, notify: Notifier) -> str:
    """The file that a shell on this node sources to get the profile's environment; empty for none.

    This is the one place where `run`, `shell` and `run --detach` get it from. A layer that fails is an error.
    """
    if here.profile.environment == EnvironmentOptions():
        return ""
    from scratchflow.node.environment.shell import prepare_shell

    return prepare_shell(here, notify, NOTHING).file
