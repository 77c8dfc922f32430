"""`create`: make the workspace and take its first snapshot."""

from __future__ import annotations

import os
from collections.abc import Mapping

from scratchflow.disk.private import make_private_directories
from scratchflow.model.errors import WorkspaceFailed, WorkspaceKnown
from scratchflow.model.requests import Create
from scratchflow.model.results import WorkspaceCreated
from scratchflow.model.text import printable
from scratchflow.node.backup import backup
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.directory import find_place
from scratchflow.workspace.environment import (
    ENV_NAME,
    EnvironmentOptions,
    activation,
    make_environment,
)
from scratchflow.workspace.own_scratch import make_own_scratch


def create(
    context: NodeContext,
    notify: Notifier,
    request: Create,
    environment: Mapping[str, str] = os.environ,
) -> WorkspaceCreated:
    """Makes the directory and, if asked, the environment, then snapshots what is there.

    Refused when the store already has snapshots: then the workspace is to be restored, and an
    empty one must not take its place. Where it is there, an environment can still be added.
    """
    place = find_place(context.store, context.workspace.name)
    if not request.dry_run:
        forget_old_listing(place)
    known = read_catalogue(place).newest_id
    adds_environment = request.env != "none" and context.workspace.path.is_dir()
    if known is not None and not adds_environment:
        raise WorkspaceKnown(workspace=context.workspace.name, snapshot=known)
    path = printable(context.workspace.path)
    env = str(context.workspace.scratch / ENV_NAME) if request.env != "none" else None
    if request.dry_run:
        return WorkspaceCreated(path=path, snapshot=None, env=env, dry_run=True)
    try:
        make_own_scratch(context.workspace)
        make_private_directories(context.workspace.path)
    except OSError as error:
        raise WorkspaceFailed(path=context.workspace.path, reason=error.strerror) from None
    if request.env != "none":
        _make_environment(context, notify, request, environment)
    message = "created" if known is None else "environment"
    taken = backup(context, notify, SnapshotOptions(message=message, purpose="created"))
    activate = activation(request.env, env, environment) if env else ""
    return WorkspaceCreated(path=path, snapshot=taken.snapshot, env=env, activate=activate)


def _make_environment(
    context: NodeContext, notify: Notifier, request: Create, environment: Mapping[str, str]
) -> None:
    wanted = EnvironmentOptions(
        kind=request.env,
        python=request.python,
        packages=request.packages,
        requirements=request.requirements,
        modules=context.profile.environment.modules,
    )
    make_environment(context.workspace.scratch, wanted, environment, notify.phase)
    if ENV_NAME not in context.workspace.also:
        command = f"`scratchflow config set backup.also '[\"{ENV_NAME}\"]'`"
        notify.remark(f"the environment is not backed up; {command} saves it with the workspace")
