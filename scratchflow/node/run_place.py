"""`run place`, on the node: where a command of `run` and `shell` starts, and with which environment."""

from __future__ import annotations

import os

import msgspec

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.run import RunDirectoryMissing
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.model.requests import NOTHING, RunAt
from scratchflow.model.results.run import RunPlace
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.missing import shell_without
from scratchflow.node.former_scratch import require_workspace_here
from scratchflow.node.progress import Notifier
from scratchflow.store.catalogue import newest_listed, read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.store.retention.newer import newer_elsewhere
from scratchflow.workspace.notes import read_base


def run_place(here: NodeContext, notify: Notifier, asked: RunAt) -> RunPlace:
    """The workspace. WorkspaceMissing when it is not there, RunDirectoryMissing when the directory in it is not.

    Whoever names a directory by its whole path needs no workspace: one that was renamed gets its name back so.
    """
    if not os.path.isabs(asked.cwd):
        require_workspace_here(here)
    path = here.workspace.path
    directory = os.path.join(path, os.fsdecode(asked.cwd))
    if not os.path.isdir(directory):
        raise RunDirectoryMissing(path=directory, node=here.node)
    place = RunPlace(directory=str(path), sourced=_environment(here, notify, asked))
    return _compared_with_newest(here, place)


def _compared_with_newest(here: NodeContext, place: RunPlace) -> RunPlace:
    """With the two snapshots, when the workspace does not continue the newest one.

    A workspace at the newest snapshot costs one listing of the store. A store that is away says nothing.
    """
    base = read_base(here.workspace, here.store)
    if base is None:
        return place
    try:
        store = find_place(here.store, here.workspace.name)
        if base == newest_listed(store):
            return place
        newest = newer_elsewhere(store, read_catalogue(store), base)
        if newest is None:
            return place
        from scratchflow.node.settle import present_base

        is_old = present_base(here, store) is None
    except StoreUnusable:
        return place
    return msgspec.structs.replace(place, base=base, newest=newest, is_old=is_old)


def _environment(here: NodeContext, notify: Notifier, asked: RunAt) -> str:
    try:
        return environment_file(here, notify)
    except ScratchflowError as error:
        if not asked.for_shell:
            raise
        notify.warn(error.code, b"", shell_without(error))
        return ""


def environment_file(here: NodeContext, notify: Notifier) -> str:
    """The file that a shell on this node sources to get the profile's environment; empty for none.

    This is the one place where `run`, `shell` and `run --detach` get it from. A layer that fails is an error.
    """
    if here.profile.environment == EnvironmentOptions():
        return ""
    from scratchflow.node.environment.shell import prepare_shell

    return prepare_shell(here, notify, NOTHING).file
