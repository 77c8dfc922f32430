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
from scratchflow.node.context import Here
from scratchflow.node.progress import Teller
from scratchflow.node.snapshot import Wish
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.directory import find_place
from scratchflow.workspace.environment import ENV_NAME, EnvironmentWish, make_environment
from scratchflow.workspace.own_scratch import make_own_scratch


def create(
    here: Here, teller: Teller, wish: Create, environment: Mapping[str, str] = os.environ
) -> WorkspaceCreated:
    """Makes the directory and, if asked, the environment, then snapshots what is there.

    Refused when the store already has snapshots: then the workspace is to be restored, and an
    empty one must not take its place. Where it is there, an environment can still be added.
    """
    place = find_place(here.store, here.workspace.name)
    if not wish.dry_run:
        forget_old_listing(place)
    known = read_catalogue(place).newest_id
    adds_environment = wish.env != "none" and here.workspace.path.is_dir()
    if known is not None and not adds_environment:
        raise WorkspaceKnown(workspace=here.workspace.name, snapshot=known)
    path = printable(here.workspace.path)
    env = str(here.workspace.scratch / ENV_NAME) if wish.env != "none" else None
    if wish.dry_run:
        return WorkspaceCreated(path=path, snapshot=None, env=env, dry_run=True)
    try:
        make_own_scratch(here.workspace)
        make_private_directories(here.workspace.path)
    except OSError as error:
        raise WorkspaceFailed(path=here.workspace.path, reason=error.strerror) from None
    if wish.env != "none":
        _make_environment(here, teller, wish, environment)
    message = "created" if known is None else "environment"
    taken = backup(here, teller, Wish(message=message, purpose="created"))
    return WorkspaceCreated(path=path, snapshot=taken.snapshot, env=env)


def _make_environment(
    here: Here, teller: Teller, wish: Create, environment: Mapping[str, str]
) -> None:
    wanted = EnvironmentWish(
        kind=wish.env,
        python=wish.python,
        packages=wish.packages,
        requirements=wish.requirements,
        modules=here.profile.environment.modules,
    )
    make_environment(here.workspace.scratch, wanted, environment, teller.phase)
    if ENV_NAME not in here.workspace.also:
        command = f"`scratchflow config set backup.also '[\"{ENV_NAME}\"]'`"
        teller.remark(f"the environment is not backed up; {command} saves it with the workspace")
