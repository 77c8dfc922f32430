"""`create`: make the workspace, fill it if asked, and take its first snapshot."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from shlex import quote

import msgspec

from scratchflow.disk.durable import may_be_there
from scratchflow.disk.private import make_private_directories
from scratchflow.model.ages import span
from scratchflow.model.errors.workspace import WorkspaceFailed, WorkspaceKnown
from scratchflow.model.requests import Create
from scratchflow.model.results.create import ReadyToReceive, WorkspaceCreated
from scratchflow.model.source import LAPTOP
from scratchflow.model.text import printable
from scratchflow.node.backup import backup
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.cache import forget_cached
from scratchflow.node.environment.environment import environment_for_tools
from scratchflow.node.environment.missing import directory_of, save_command
from scratchflow.node.former_scratch import require_at_scratch
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import require_same_store
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import fresh_id, read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.directory import find_place
from scratchflow.store.retention.vacant import is_vacant
from scratchflow.workspace.environment import (
    ENV_NAME,
    EnvironmentOptions,
    activation,
    make_environment,
)
from scratchflow.workspace.lock import has_loop
from scratchflow.workspace.notes import known_workspaces
from scratchflow.workspace.own_scratch import make_own_scratch
from scratchflow.workspace.workspace import Workspace

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", re.ASCII)


def requested_create(
    context: NodeContext,
    notify: Notifier,
    request: Create,
    environment: Mapping[str, str] = os.environ,
) -> WorkspaceCreated:
    """What `create` asks for. Nothing is to be without backups unnoticed; `up` starts them itself."""
    created = create(context, notify, request, environment)
    if not request.dry_run and not _is_saved_by_itself(context):
        every = span(context.profile.backup.every.seconds)
        notify.remark(
            f"no auto-backup runs on `{context.node}`: `scratchflow autobackup on` saves the workspace every {every}"
        )
    return created


def _is_saved_by_itself(context: NodeContext) -> bool:
    """Whether any auto-backup runs on this scratch: it saves every workspace on it."""
    scratch = context.workspace.scratch
    try:
        return any(has_loop(Workspace(scratch, name)) for name in known_workspaces(scratch))
    except OSError:
        return False


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
    known = _refuse_known(context, request, brings=request.brings)
    path = printable(context.workspace.path)
    env = str(context.workspace.scratch / ENV_NAME) if request.env != "none" else None
    plain = WorkspaceCreated(
        path=path, snapshot=None, env=env, host=context.node, dry_run=request.dry_run
    )
    if request.brings:
        return _create_from(context, notify, request, plain, environment)
    if request.dry_run:
        return plain
    _make_directories(context)
    if request.env != "none":
        _make_environment(context, notify, request, environment)
    message = "created" if known is None else "environment"
    taken = backup(context, notify, SnapshotOptions(message=message, purpose="created"))
    created = msgspec.structs.replace(plain, snapshot=taken.snapshot)
    return _with_environment(created, context, request, environment)


def ready_to_receive(context: NodeContext, _: Notifier, request: Create) -> ReadyToReceive:
    """Says where what is sent next will go, or refuses before anything is sent."""
    from scratchflow.node.bring.sources import refuse_content

    _refuse_known(context, request, brings=True)
    refuse_content(context)
    catalogue = read_catalogue(find_place(context.store, context.workspace.name))
    return ReadyToReceive(
        path=printable(context.workspace.path),
        workspace=context.workspace.name,
        snapshot=fresh_id(catalogue, context.now(), context.token(3)),
        host=context.node,
        free_bytes=_free_bytes(context),
    )


def _free_bytes(context: NodeContext) -> int | None:
    for place in (context.workspace.scratch, *context.workspace.scratch.parents):
        try:
            found = os.statvfs(place)
        except OSError:
            continue
        return found.f_bavail * found.f_frsize
    return None


def _refuse_known(context: NodeContext, request: Create, *, brings: bool) -> str | None:
    """The newest snapshot, where that is no hindrance; WorkspaceKnown where it is."""
    require_at_scratch(context)
    require_same_store(
        context
    )  # before an empty workspace takes the place of one that came from another
    place = find_place(context.store, context.workspace.name)
    if not request.dry_run:
        forget_old_listing(place)
    catalogue = read_catalogue(place)
    known = catalogue.newest_id
    if brings and is_vacant(place, catalogue):  # an empty workspace is there to be filled
        return known
    adds_environment = request.env != "none" and context.workspace.path.is_dir()
    if known is not None and (brings or not adds_environment):
        workspace = context.workspace.name
        raise WorkspaceKnown.of(
            workspace,
            known,
            second=_second(context, request),
            there=context.where_files_are_copied,
            is_here=context.workspace.path.is_dir(),
            brings=brings,
        )
    return known


def _second(context: NodeContext, request: Create) -> str:
    """The command that makes a second workspace from the same source."""
    source = f" --from {quote(_typed(request))}" if request.named else ""
    tracked = " --tracked" if request.tracked else ""
    name = _free_name(context, request.named)
    return f"scratchflow --set workspace={name} create{source}{tracked}"


def _typed(request: Create) -> str:
    """What was named, as it can be typed again: a directory that is not here is one of the machine that it was typed on."""
    directory = request.directory
    is_away = directory is not None and not os.path.isdir(os.path.expanduser(directory))
    return f"{LAPTOP}{request.named}" if is_away else request.named


def _free_name(context: NodeContext, source: str) -> str:
    """Named like the source, if that is a plain name; else like this workspace, with a number."""
    stem = context.workspace.name
    own = source.rstrip("/").rpartition("/")[2].removesuffix(".git")
    names = (f"{stem}{number}" for number in count(2))
    for name in chain([own] if _PLAIN.fullmatch(own) else [], names):
        places = (context.workspace.scratch / name, context.store / name)
        if not any(map(may_be_there, places)):
            return name
    raise AssertionError  # there is always a next number


def _create_from(
    context: NodeContext,
    notify: Notifier,
    request: Create,
    plain: WorkspaceCreated,
    environment: Mapping[str, str],
) -> WorkspaceCreated:
    """The same for a workspace that is filled from somewhere: what is brought comes first."""
    # Imported when it is asked for: it brings all that restoring needs.
    from scratchflow.node.bring.sources import bring, refuse_content

    refuse_content(context)
    if not request.dry_run:
        _make_scratch(context)
    brought = bring(context, notify, request, environment)
    snapshot = brought.snapshot or None
    if request.env != "none" and not request.dry_run:
        _make_environment(context, notify, request, environment)
        options = SnapshotOptions(message="environment", purpose="created")
        snapshot = backup(context, notify, options).snapshot
    elif beside := _beside(context, request):
        # What was brought is saved alone: the newest snapshot must not lack what the one before had.
        options = SnapshotOptions(message=f"with {', '.join(beside)}", purpose="created")
        snapshot = backup(context, notify, options).snapshot or snapshot
    counts = brought.counts
    created = msgspec.structs.replace(
        plain,
        snapshot=snapshot,
        source=brought.source,
        files=counts.files if counts else None,
        bytes=counts.bytes if counts else None,
        left_out=brought.left_out,
        left_out_paths=brought.left_out_paths,
    )
    return _with_environment(created, context, request, environment)


def _beside(context: NodeContext, request: Create) -> list[str]:
    """What `backup.also` names and is there; nothing for a dry run."""
    workspace = context.workspace
    if request.dry_run:
        return []
    return [printable(one) for one in workspace.also if may_be_there(workspace.scratch / one)]


def _make_scratch(context: NodeContext) -> None:
    try:
        make_own_scratch(context.workspace)
    except OSError as error:
        raise WorkspaceFailed(path=context.workspace.path, reason=error.strerror) from None


def _make_directories(context: NodeContext) -> None:
    _make_scratch(context)
    try:
        make_private_directories(context.workspace.path)
    except OSError as error:
        raise WorkspaceFailed(path=context.workspace.path, reason=error.strerror) from None


def _make_environment(
    context: NodeContext, notify: Notifier, request: Create, environment: Mapping[str, str]
) -> None:
    wanted = EnvironmentOptions(
        kind=request.env,
        python=request.python,
        packages=request.packages,
        requirements=request.requirements,
        requirements_kind=request.requirements_kind,
        lock=request.lock,
    )
    for_tools = environment_for_tools(context, environment)
    make_environment(context.workspace.scratch, wanted, for_tools, notify.phase)
    forget_cached(context.workspace)


def _with_environment(
    created: WorkspaceCreated,
    context: NodeContext,
    request: Create,
    environment: Mapping[str, str],
) -> WorkspaceCreated:
    """Adds how the environment is used: in one shell, and by everything; and how it is saved."""
    if request.env == "none" or created.env is None:
        return created
    layers = context.profile.environment
    used = directory_of(layers, request.env)
    is_used = bool(used) and context.workspace.scratch / used == Path(created.env)
    setting = "venv env" if request.env == "venv" else "conda ./env"
    is_saved = ENV_NAME in context.workspace.also
    return msgspec.structs.replace(
        created,
        activate=activation(request.env, created.env, environment),
        use_with="" if is_used else f"scratchflow config set environment.{setting}",
        save_with="" if is_saved else save_command(context.profile, ENV_NAME),
    )
