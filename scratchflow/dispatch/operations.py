"""What each `do` is: what it takes, where it runs, and the flow that does it there.

One table for the command line and for the agent. Each flow is imported when it is asked for.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.model import requests
from scratchflow.model.errors import FileFailed
from scratchflow.model.events import Emit
from scratchflow.model.requests import Arguments, StoreSeen
from scratchflow.model.results import Result
from scratchflow.model.text import printable

if TYPE_CHECKING:
    from scratchflow.login.host import LoginHost
    from scratchflow.node.context import Here
    from scratchflow.node.progress import Teller


class OnNode(msgspec.Struct, frozen=True):
    """Done where the workspace is; with `needs_scratch` off, wherever the store can be seen."""

    arguments: type[Arguments]
    flow: "Callable[[Here, Teller, Any], Result]"
    needs_scratch: bool = True
    # Refused when the node sees another store than the login host. `backup` looks for the workspace
    # first, and `check node` tells instead of refusing.
    compares_store: bool = True


class OnLogin(msgspec.Struct, frozen=True):
    """Done on the login host, where Slurm and tmux are."""

    arguments: type[Arguments]
    flow: "Callable[[LoginHost, Any], Result]"


def _backup(here: "Here", teller: "Teller", asked: requests.Backup) -> Result:
    from scratchflow.node import backup as flow
    from scratchflow.node.snapshot import Wish

    message = printable(asked.message)
    wish = Wish(
        full=asked.full,
        allow_shrink=asked.allow_shrink,
        message=message,
        purpose=asked.purpose,
    )
    take = flow.foretell_backup if asked.dry_run else flow.backup
    return take(here, teller, wish)


def _save_node(here: "Here", teller: "Teller", asked: requests.SaveNode) -> Result:
    from scratchflow.node.save_node import save_node

    return save_node(here, teller, asked)


def _create(here: "Here", teller: "Teller", asked: requests.Create) -> Result:
    from scratchflow.node.create import create

    return create(here, teller, asked, os.environ)


def _restore(here: "Here", teller: "Teller", asked: requests.Restore) -> Result:
    from scratchflow.node.restore.restore import restore
    from scratchflow.node.restore.source import RestoreWish

    wish = RestoreWish(
        snapshot=asked.snapshot,
        paths=asked.paths,
        to=_absolute(asked.to) if asked.to else None,
        source=Path(asked.source) if asked.source else None,
        replace=asked.replace,
        abandon=asked.abandon,
        dry_run=asked.dry_run,
    )
    return restore(here, teller, wish)


def _absolute(path: str) -> Path:
    try:
        return Path(path).absolute()
    except OSError as error:  # the current directory is gone
        raise FileFailed(path=path, reason=error.strerror) from None


def _list(here: "Here", teller: "Teller", _: requests.Nothing) -> Result:
    from scratchflow.node.history import list_snapshots

    return list_snapshots(here, teller)


def _show(here: "Here", teller: "Teller", asked: requests.Show) -> Result:
    from scratchflow.node.history import show_snapshot

    return show_snapshot(here, teller, asked.snapshot, asked.path)


def _diff(here: "Here", teller: "Teller", asked: requests.Diff) -> Result:
    from scratchflow.node.history import diff_snapshots

    return diff_snapshots(here, teller, asked.older, asked.newer)


def _verify(here: "Here", teller: "Teller", asked: requests.Verify) -> Result:
    from scratchflow.node.history import verify_snapshots

    return verify_snapshots(here, teller, list(asked.snapshots))


def _prune(here: "Here", teller: "Teller", asked: requests.Prune) -> Result:
    from scratchflow.node.retention import prune_snapshots

    return prune_snapshots(here, teller, asked)


def _keep(here: "Here", teller: "Teller", asked: requests.Mark) -> Result:
    from scratchflow.node.retention import keep_snapshots

    return keep_snapshots(here, teller, asked)


def _unkeep(here: "Here", teller: "Teller", asked: requests.Mark) -> Result:
    from scratchflow.node.retention import unkeep_snapshots

    return unkeep_snapshots(here, teller, asked)


def _export(here: "Here", teller: "Teller", asked: requests.Export) -> Result:
    from scratchflow.node.transfer import export_snapshot

    file = Path(asked.file)
    return export_snapshot(here, teller, asked.snapshot, file, dry_run=asked.dry_run)


def _import(here: "Here", teller: "Teller", asked: requests.Import) -> Result:
    from scratchflow.node.transfer import import_snapshot

    return import_snapshot(here, teller, Path(asked.file), dry_run=asked.dry_run)


def _check_node(here: "Here", _: "Teller", __: requests.Nothing) -> Result:
    from scratchflow.login.check import check_node

    return check_node(here, os.environ)


def _autobackup_run(here: "Here", _: "Teller", asked: requests.Autobackup) -> Result:
    from scratchflow.node.autobackup.loop import run_autobackup

    return run_autobackup(here, asked, os.environ)


def _settle(here: "Here", teller: "Teller", asked: requests.Settle) -> Result:
    from scratchflow.node.settle import settle

    return settle(here, teller, asked)


def _nodes(login: "LoginHost", _: requests.Nothing) -> Result:
    from scratchflow.login.nodes import nodes_here

    return nodes_here(login.settings, login.environment)


def _check(login: "LoginHost", _: requests.Nothing) -> Result:
    from scratchflow.login.check import check_login

    return check_login(login.settings, login.environment)


def _hold(login: "LoginHost", asked: requests.Hold) -> Result:
    from scratchflow.login.hold import hold_node

    return hold_node(login, asked)


def _release(login: "LoginHost", asked: requests.Release) -> Result:
    from scratchflow.login.release import release_node

    return release_node(login, asked)


def _look(login: "LoginHost", _: requests.Nothing) -> Result:
    from scratchflow.login.status import look

    return look(login)


def _watch(login: "LoginHost", asked: requests.Watch) -> Result:
    from scratchflow.login.watch import watch

    return watch(login, asked)


def _session(login: "LoginHost", asked: requests.Session) -> Result:
    from scratchflow.login.session import ready_session

    return ready_session(login, rebuild=asked.rebuild)


def _autobackup_on(login: "LoginHost", asked: requests.DryRun) -> Result:
    from scratchflow.login.autobackup import switch_on

    return switch_on(login, asked)


def _autobackup_off(login: "LoginHost", asked: requests.DryRun) -> Result:
    from scratchflow.login.autobackup import switch_off

    return switch_off(login, asked)


def _autobackup_status(login: "LoginHost", _: requests.Nothing) -> Result:
    from scratchflow.login.autobackup import show

    return show(login)


def _jobs_open(login: "LoginHost", asked: requests.OpenJobs) -> Result:
    from scratchflow.login.status import open_jobs

    return open_jobs(login, any_profile=asked.any_profile)


# `do` is the `op` of the events, so each is a key of `RESULTS_BY_OP`.
ON_NODE = {
    "backup": OnNode(requests.Backup, _backup, compares_store=False),
    "save node": OnNode(requests.SaveNode, _save_node, compares_store=False),
    "create": OnNode(requests.Create, _create),
    "check node": OnNode(requests.Nothing, _check_node, compares_store=False),
    "settle": OnNode(requests.Settle, _settle),
    "autobackup run": OnNode(requests.Autobackup, _autobackup_run),
    "restore": OnNode(requests.Restore, _restore),
    "snapshots list": OnNode(requests.Nothing, _list, needs_scratch=False),
    "snapshots show": OnNode(requests.Show, _show, needs_scratch=False),
    "snapshots diff": OnNode(requests.Diff, _diff, needs_scratch=False),
    "snapshots verify": OnNode(requests.Verify, _verify, needs_scratch=False),
    "snapshots prune": OnNode(requests.Prune, _prune, needs_scratch=False),
    "snapshots keep": OnNode(requests.Mark, _keep, needs_scratch=False),
    "snapshots unkeep": OnNode(requests.Mark, _unkeep, needs_scratch=False),
    "snapshots export": OnNode(requests.Export, _export),
    "snapshots import": OnNode(requests.Import, _import),
}

ON_LOGIN = {
    "nodes": OnLogin(requests.Nothing, _nodes),
    "check": OnLogin(requests.Nothing, _check),
    "hold": OnLogin(requests.Hold, _hold),
    "release": OnLogin(requests.Release, _release),
    "look": OnLogin(requests.Nothing, _look),
    "watch": OnLogin(requests.Watch, _watch),
    "session": OnLogin(requests.Session, _session),
    "jobs open": OnLogin(requests.OpenJobs, _jobs_open),
    "autobackup on": OnLogin(requests.DryRun, _autobackup_on),
    "autobackup off": OnLogin(requests.DryRun, _autobackup_off),
    "autobackup status": OnLogin(requests.Nothing, _autobackup_status),
}


def do_here(
    do: str,
    settings: Settings,
    wish: Arguments,
    emit: Emit,
    *,
    wants_items: bool = False,
    store_seen: StoreSeen | None = None,
) -> Result:
    """Does it on this machine, which is the right one."""
    if do in ON_LOGIN:
        from scratchflow.login.host import LoginHost

        return ON_LOGIN[do].flow(LoginHost(settings, os.environ, emit), wish)
    from scratchflow.node.context import here_with
    from scratchflow.node.progress import Teller

    served = ON_NODE[do]
    here = here_with(
        settings, os.environ, needs_scratch=served.needs_scratch, store_seen=store_seen
    )
    if store_seen is not None and served.compares_store:
        from scratchflow.node.same_store import require_same_store

        require_same_store(here)
    return served.flow(here, Teller(emit, wants_items=wants_items), wish)
