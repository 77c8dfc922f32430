"""`status`, as seen from the login host: allocation, session, store, auto-backup."""

from __future__ import annotations

import msgspec

from scratchflow.cluster.this_host import node_name
from scratchflow.login.host import LoginHost
from scratchflow.login.status.copy_looks import CopyLooks, copies_differ
from scratchflow.login.status.jobs import allocation_shown, elsewhere_shown, jobs_seen, newest_of
from scratchflow.login.status.problems import (
    forgotten_jobs,
    half_restored,
    job_problems,
    lost_session,
    store_away_on_node,
    store_lost_problem,
    store_replaced_problem,
    store_unwritable_problem,
    unreadable_snapshots,
    unsaved_others,
    workspace_behind,
    workspace_gone,
)
from scratchflow.login.status.store import (
    Now,
    autobackup_shown,
    half_restored_from,
    others_shown,
    snapshots_shown,
    workspace_shown,
)
from scratchflow.login.status.store_problems import store_problems
from scratchflow.model.allocation import Allocation, ThisMachine
from scratchflow.model.errors import ScratchflowError, TmuxFailed
from scratchflow.model.requests import NOTHING, Nothing
from scratchflow.model.results import (
    AutobackupShown,
    CopyShown,
    OtherShown,
    Problem,
    SessionShown,
    SnapshotsShown,
    StatusShown,
    WorkspaceShown,
)
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import read_verified
from scratchflow.store.checks.writable import WriteTrial
from scratchflow.store.directory import find_place
from scratchflow.store.heartbeats import Heartbeat, Pulses, current, read_heartbeats
from scratchflow.workspace.workspace import expand


def look(
    login: LoginHost,
    _: Nothing = NOTHING,
    *,
    pulses: Pulses | None = None,
    trial: WriteTrial | None = None,
    copies: CopyLooks | None = None,
) -> StatusShown:
    """Everything that the login host can see now. `pulses`, `trial` and `copies` remember between looks."""
    settings = login.settings
    now = Now(pulses)
    jobs, others = jobs_seen(login)
    held = newest_of(jobs)
    session = _session(login)
    stored = _stored(login, held, now, trial or WriteTrial())
    on_nodes = _copies(login, held, copies or CopyLooks())
    problems = [
        *copies_differ(on_nodes),
        *job_problems(jobs, held, stored.autobackup),
        *(lost_session(session) if _wants_session(login, held) else ()),
        *forgotten_jobs(login, jobs, stored.living),
    ]
    return StatusShown(
        profile=settings.name,
        allocation=allocation_shown(held, now.wall_s),
        alias=None,
        workspace=stored.workspace,
        snapshots=stored.snapshots,
        autobackup=stored.autobackup,
        session=session,
        problems=[*stored.problems, *problems],
        scheduler=settings.profile.scheduler,
        others=stored.others,
        elsewhere=elsewhere_shown(others),
        store=stored.directory,
        copies=on_nodes,
    )


def _copies(login: LoginHost, held: Allocation | None, looks: CopyLooks) -> list[CopyShown]:
    """The workspace on the further nodes; a store that cannot be read is told elsewhere."""
    try:
        return looks.look(login.settings, held, login.environment)
    except ScratchflowError:
        return []


class _Stored(msgspec.Struct, frozen=True):
    """What the store tells, or why it does not."""

    workspace: WorkspaceShown
    snapshots: SnapshotsShown
    autobackup: AutobackupShown
    others: list[OtherShown] = []
    living: tuple[Heartbeat, ...] = ()
    problems: tuple[Problem, ...] = ()
    directory: str = ""


def _stored(login: LoginHost, held: Allocation | None, now: Now, trial: WriteTrial) -> _Stored:
    """What the store says. If it cannot be read, that is a problem to show, not an error."""
    settings, environment = login.settings, login.environment
    if held is None and settings.profile.scheduler == "none":
        # The auto-backup of one machine needs no session: it runs with or without.
        held = ThisMachine(name="", nodes=(node_name(environment),))
    try:
        place = find_place(expand(settings.profile.store, environment), settings.profile.workspace)
        catalogue, verified = read_catalogue(place), read_verified(place)
        autobackup = autobackup_shown(settings, place, held, now)
        there = login.workspace_of(held)
        workspace = workspace_shown(settings, environment, place, held, there)
        replaced = (
            *store_lost_problem(login, place),
            *store_replaced_problem(login, held),
        )
        job = held.job_id if held else None
        heartbeat = current(place, held.node, job, held.name) if held and held.node else None
        others = others_shown(there, heartbeat)
        return _Stored(
            workspace=workspace,
            directory=str(place.directory),
            others=others,
            snapshots=snapshots_shown(catalogue, verified, now.wall_s),
            autobackup=autobackup,
            living=tuple(
                heartbeat for heartbeat in read_heartbeats(place) if now.is_alive(heartbeat)
            ),
            problems=(
                *replaced,
                *store_unwritable_problem(place, trial),
                *store_away_on_node(login, place, heartbeat),
                *half_restored(half_restored_from(settings, environment, place, held, there)),
                *unreadable_snapshots(catalogue),
                *workspace_gone(workspace, held),
                *(() if replaced else workspace_behind(workspace, catalogue)),
                *store_problems(place, catalogue, autobackup, verified),
                *unsaved_others(others),
            ),
        )
    except ScratchflowError as error:
        path = str(login.workspace_of(held).path)
        every_s = settings.profile.backup.every.seconds
        return _Stored(
            workspace=WorkspaceShown(path=path, exists=None, base_snapshot=None),
            snapshots=SnapshotsShown(count=0),
            autobackup=AutobackupShown(enabled=False, every_s=every_s),
            problems=(Problem(name=error.code, detail=str(error), fix=error.shown_hint),),
        )


def _session(login: LoginHost) -> SessionShown:
    elsewhere = login.session_elsewhere()
    if elsewhere:
        return SessionShown(name=elsewhere.session, host=elsewhere.host, alive=None)
    if not login.has_tmux:
        return SessionShown(name=None, host=login.host, alive=False)
    try:
        name = login.tmux.session(login.settings.name)
    except TmuxFailed:
        name = None
    return SessionShown(name=name, host=login.host, alive=name is not None)


def _wants_session(login: LoginHost, held: Allocation | None) -> bool:
    """Whether a tmux session is expected: only for a running Slurm job, where tmux is installed."""
    is_held = held is not None and held.state == "running"
    return is_held and login.has_tmux and login.profile.scheduler == "slurm"
