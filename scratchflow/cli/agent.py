"""`scratchflow agent`: answers another scratchflow; in no `--help`, because no person types it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scratchflow import __version__
from scratchflow.agent.request import Arguments, Request, typed_arguments
from scratchflow.agent.server import read_request, serve
from scratchflow.cli.call import Call
from scratchflow.model.errors import RequestRefused, UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results import Result, VersionShown

if TYPE_CHECKING:  # each flow is imported when it is asked for
    from scratchflow.config.settings import Settings
    from scratchflow.flows.here import Here
    from scratchflow.flows.telling import Teller

STDIN = 0


def receive(arguments: Sequence[str]) -> Call[Any]:
    """Reads the request; what it asks for runs later, inside the error boundary."""
    if arguments or os.isatty(STDIN):
        problem = "`agent` takes a request on its input, from another scratchflow"
        raise UsageInvalid(problem=problem, command="scratchflow")
    request = read_request(STDIN)

    def flow(emit: Emit) -> Result:
        return serve(request, dispatch, emit, stdin=STDIN)

    return Call(request.do, flow, lambda _: ())


def dispatch(request: Request, emit: Emit) -> Result:
    """Runs the flow that `do` names, with the profile that came along."""
    if request.do == "version":
        return VersionShown(version=__version__)
    from scratchflow.config.settings import given_settings

    settings = given_settings(request.profile_name, request.profile, "the request")
    if request.do in SERVED_ON_LOGIN:
        typed_arguments(request, Nothing)
        return SERVED_ON_LOGIN[request.do](settings)
    served = SERVED.get(request.do)
    if served is None:
        raise RequestRefused(reason=f"it does not know `{request.do}`")
    arguments = typed_arguments(request, served.arguments)
    from scratchflow.flows.here import here_with
    from scratchflow.flows.telling import Teller

    teller = Teller(emit, wants_items=request.verbose)
    return served.flow(here_with(settings, os.environ), teller, arguments)


@dataclass(frozen=True)
class Served:
    """What one `do` takes, and the flow that does it on this machine."""

    arguments: type[Arguments]
    flow: "Callable[[Here, Teller, Any], Result]"


class Nothing(Arguments, frozen=True):
    """For what takes no arguments."""


class DryRun(Arguments, frozen=True):
    """For what can be tried without doing it."""

    dry_run: bool = False


class Backup(DryRun, frozen=True):
    """`backup`."""

    full: bool = False
    allow_shrink: bool = False
    message: str = ""


class Restore(DryRun, frozen=True):
    """`restore`; `to` and `source` are paths of the machine that does it."""

    snapshot: str = "latest"
    paths: tuple[str, ...] = ()
    to: str | None = None
    source: str | None = None
    replace: bool = False


class Show(Arguments, frozen=True):
    """`snapshots show`."""

    snapshot: str = "latest"
    path: str | None = None


class Diff(Arguments, frozen=True):
    """`snapshots diff`."""

    older: str
    newer: str = "latest"


class Verify(Arguments, frozen=True):
    """`snapshots verify`; none named means all."""

    snapshots: tuple[str, ...] = ()


def _backup(here: "Here", teller: "Teller", asked: Backup) -> Result:
    from scratchflow.flows import backup as flow
    from scratchflow.flows.snapshotting import Wish

    wish = Wish(full=asked.full, allow_shrink=asked.allow_shrink, message=asked.message)
    take = flow.foretell_backup if asked.dry_run else flow.backup
    return take(here, teller, wish)


def _create(here: "Here", teller: "Teller", asked: DryRun) -> Result:
    from scratchflow.flows.create import create

    return create(here, teller, dry_run=asked.dry_run)


def _restore(here: "Here", teller: "Teller", asked: Restore) -> Result:
    from scratchflow.flows.restore import RestoreWish, restore

    wish = RestoreWish(
        snapshot=asked.snapshot,
        paths=asked.paths,
        to=Path(asked.to).absolute() if asked.to else None,
        source=Path(asked.source) if asked.source else None,
        replace=asked.replace,
        dry_run=asked.dry_run,
    )
    return restore(here, teller, wish)


def _list(here: "Here", teller: "Teller", _: Nothing) -> Result:
    from scratchflow.flows.snapshots import list_snapshots

    return list_snapshots(here, teller)


def _show(here: "Here", teller: "Teller", asked: Show) -> Result:
    from scratchflow.flows.snapshots import show_snapshot

    return show_snapshot(here, teller, asked.snapshot, asked.path)


def _diff(here: "Here", teller: "Teller", asked: Diff) -> Result:
    from scratchflow.flows.snapshots import diff_snapshots

    return diff_snapshots(here, teller, asked.older, asked.newer)


def _verify(here: "Here", teller: "Teller", asked: Verify) -> Result:
    from scratchflow.flows.snapshots import verify_snapshots

    return verify_snapshots(here, teller, list(asked.snapshots))


def _prune(here: "Here", _: "Teller", asked: DryRun) -> Result:
    from scratchflow.flows.snapshots import prune_snapshots

    return prune_snapshots(here, dry_run=asked.dry_run)


# `do` is the `op` of the events, so each is a verb of `RESULTS_BY_OP`.
SERVED = {
    "backup": Served(Backup, _backup),
    "create": Served(DryRun, _create),
    "restore": Served(Restore, _restore),
    "snapshots list": Served(Nothing, _list),
    "snapshots show": Served(Show, _show),
    "snapshots diff": Served(Diff, _diff),
    "snapshots verify": Served(Verify, _verify),
    "snapshots prune": Served(DryRun, _prune),
}


def _nodes(settings: "Settings") -> Result:
    from scratchflow.flows.nodes import nodes_here

    return nodes_here(settings, os.environ)


def _check(settings: "Settings") -> Result:
    from scratchflow.flows.checking import check_login

    return check_login(settings, os.environ)


# On the login host, where there is no workspace.
SERVED_ON_LOGIN: "dict[str, Callable[[Settings], Result]]" = {
    "nodes": _nodes,
    "check": _check,
}
