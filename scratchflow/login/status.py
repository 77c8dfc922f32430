"""What is true on the cluster, looked at from the login host: allocation, session, store, auto-backup."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping

import msgspec

from scratchflow.cluster.slurm.jobs import our_jobs
from scratchflow.cluster.slurm.states import CAUSE_TEXTS
from scratchflow.cluster.this_host import node_name
from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.config.settings import Settings
from scratchflow.login.host import LoginHost
from scratchflow.login.store_problems import store_problems
from scratchflow.model.allocation import HELD, OPEN, Allocation, ThisMachine
from scratchflow.model.errors import LatestUnreadable, ScratchflowError, TmuxFailed
from scratchflow.model.requests import NOTHING, Nothing, OpenJobs
from scratchflow.model.results import (
    AllocationShown,
    AutobackupShown,
    JobsShown,
    Problem,
    RecentSnapshot,
    SessionShown,
    SnapshotsShown,
    StatusShown,
    WorkspaceShown,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.model.times import epoch, iso_time
from scratchflow.node.autobackup.settings import settings_digest
from scratchflow.node.same_store import store_replaced
from scratchflow.store.catalogue import Catalogue, newer_elsewhere, read_catalogue
from scratchflow.store.checks.verified import Verification, read_verified, verified_at
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.heartbeats import (
    Heartbeat,
    Pulses,
    current,
    read_heartbeat,
    read_heartbeats,
)
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.notes import read_base, read_restoring
from scratchflow.workspace.workspace import expand, find_workspace

_DAY_S = 86400


class Now:
    """The time of this look, and what earlier looks saw of the heartbeats, if there were any."""

    def __init__(self, pulses: Pulses | None = None) -> None:
        self.wall_s = time.time()
        self._monotonic_s = time.monotonic()
        self._pulses = pulses or Pulses()

    def is_alive(self, heartbeat: Heartbeat) -> bool | None:
        """Whether an auto-backup gives signs of life; None when one look cannot tell."""
        if heartbeat.phase == "ended":
            return False
        return self._pulses.is_alive(heartbeat, self.wall_s, self._monotonic_s)


def look(login: LoginHost, _: Nothing = NOTHING, *, pulses: Pulses | None = None) -> StatusShown:
    """One picture of everything that the login host can see; with `pulses` one of many."""
    settings = login.settings
    now = Now(pulses)
    jobs = _jobs(login)
    held = _the_one(jobs)
    session = _session(login)
    stored = _stored(login, held, now)
    problems = [
        *_problems(jobs, held, stored.autobackup),
        *(_lost_session(session) if _wants_session(login, held) else ()),
        *_forgotten(login, jobs, stored.living),
    ]
    return StatusShown(
        profile=settings.name,
        allocation=_allocation(held, now.wall_s),
        alias=None,
        workspace=stored.workspace,
        snapshots=stored.snapshots,
        autobackup=stored.autobackup,
        session=session,
        problems=[*stored.problems, *problems],
    )


class _Stored(msgspec.Struct, frozen=True):
    """What the store tells, or why it does not."""

    workspace: WorkspaceShown
    snapshots: SnapshotsShown
    autobackup: AutobackupShown
    living: tuple[Heartbeat, ...] = ()
    problems: tuple[Problem, ...] = ()


def _stored(login: LoginHost, held: Allocation | None, now: Now) -> _Stored:
    """A store that is out of order is a thing to show: the node is ours all the same."""
    settings, environment = login.settings, login.environment
    if held is None and settings.profile.scheduler == "none":
        # The auto-backup of one machine needs no session: it runs with or without.
        held = ThisMachine(name="", nodes=(node_name(environment),))
    try:
        place = find_place(expand(settings.profile.store, environment), settings.profile.workspace)
        catalogue, verified = read_catalogue(place), read_verified(place)
        autobackup = autobackup_shown(settings, place, held, now)
        workspace = _workspace(settings, environment, place, held)
        replaced = tuple(_store_replaced(settings, environment, held))
        return _Stored(
            workspace=workspace,
            snapshots=_snapshots(catalogue, verified, now.wall_s),
            autobackup=autobackup,
            living=tuple(
                heartbeat for heartbeat in read_heartbeats(place) if now.is_alive(heartbeat)
            ),
            problems=(
                *replaced,
                *_half_restored(settings, environment),
                *_unreadable(catalogue),
                *_workspace_gone(workspace, held),
                *(() if replaced else _workspace_behind(workspace, catalogue)),
                *store_problems(place, catalogue, autobackup, verified),
            ),
        )
    except ScratchflowError as error:
        path = str(find_workspace(settings.profile, environment).path)
        every_s = settings.profile.backup.every.seconds
        return _Stored(
            workspace=WorkspaceShown(path=path, exists=None, base_snapshot=None),
            snapshots=SnapshotsShown(count=0),
            autobackup=AutobackupShown(enabled=False, every_s=every_s),
            problems=(Problem(name=error.code, detail=str(error), fix=error.shown_hint),),
        )


def open_jobs(login: LoginHost, asked: OpenJobs) -> JobsShown:
    """The profile's allocations, oldest first: those that run, and those that wait or are stopped."""
    found = our_jobs(login.slurm) if asked.any_profile else _jobs(login)
    jobs = [job for job in found if job.state in OPEN]
    shown = [_allocation(job, time.time()) for job in jobs]
    return JobsShown(jobs=[one for one in shown if one is not None])


def _the_one(jobs: list[Allocation]) -> Allocation | None:
    """The allocation that is meant by default: the newest that has a node, else one that waits."""
    held = [job for job in jobs if job.state in HELD]
    waiting = [job for job in jobs if job.state in OPEN]
    candidates = held or waiting
    return candidates[-1] if candidates else None


def _jobs(login: LoginHost) -> list[Allocation]:
    """The profile's jobs, newest last, with those that ended a short while ago."""
    if login.profile.scheduler == "none":
        if not login.has_tmux:
            return []
        found = none.allocation(login.tmux, login.settings.name, node_name(login.environment))
        return [found] if found else []
    return our_jobs(login.slurm, login.settings.name, ended=True)


def _allocation(held: Allocation | None, now_s: float) -> AllocationShown | None:
    if held is None:
        return None
    return AllocationShown(
        state=held.state,
        job_id=held.job_id,
        node=held.node,
        partition=held.partition,
        end_time=iso_time(held.end_time),
        seconds_left=None if held.end_time is None else max(0, int(held.end_time - now_s)),
        start_time=iso_time(held.start_time),
        reason=held.reason_text,
        start_estimate=iso_time(held.start_estimate),
    )


def _workspace(
    settings: Settings,
    environment: Mapping[str, str],
    place: StoreDirectory,
    held: Allocation | None,
) -> WorkspaceShown:
    """On its own machine it is looked at. Elsewhere the auto-backup tells, or the node's record does."""
    workspace = find_workspace(settings.profile, environment)
    path = str(workspace.path)
    node = held.node if held else None
    if _is_here(settings, environment, held):
        store = expand(settings.profile.store, environment)
        exists = os.path.isdir(workspace.path)
        base = read_base(workspace, store) if exists else None
        return WorkspaceShown(path=path, exists=exists, base_snapshot=base)
    record = next((one for one in read_nodes(place) if one.node == node), None)
    heartbeat = current(place, node, held.job_id, held.name) if held and node else None
    if heartbeat is not None and heartbeat.workspace_exists is False:
        return WorkspaceShown(path=path, exists=False, base_snapshot=None, seen_time=heartbeat.time)
    if record is None:
        exists_there = heartbeat.workspace_exists if heartbeat else None
        return WorkspaceShown(path=path, exists=exists_there, base_snapshot=None)
    seen = heartbeat.time if heartbeat and heartbeat.workspace_exists else record.time
    return WorkspaceShown(path=path, exists=True, base_snapshot=record.snapshot, seen_time=seen)


def _is_here(settings: Settings, environment: Mapping[str, str], held: Allocation | None) -> bool:
    """Whether the workspace is on this machine."""
    node = held.node if held else None
    return settings.profile.scheduler == "none" or node == node_name(environment)


def _store_replaced(
    settings: Settings, environment: Mapping[str, str], held: Allocation | None
) -> Iterator[Problem]:
    """Where the workspace is on another machine, its own commands say so: this host has not its notes."""
    if not _is_here(settings, environment, held):
        return
    workspace = find_workspace(settings.profile, environment)
    store = expand(settings.profile.store, environment)
    error = store_replaced(workspace, store, node_name(environment))
    if error is not None:
        yield Problem(name=error.code, detail=str(error), fix=error.shown_hint)


def _unreadable(catalogue: Catalogue) -> Iterator[Problem]:
    try:
        _ = catalogue.latest
    except LatestUnreadable as error:
        yield Problem(name=error.code, detail=str(error), fix=error.shown_hint)
        return
    for one in catalogue.skipped[:1]:
        yield Problem(
            name="snapshots.unreadable",
            detail=f"snapshot {one.snapshot} cannot be used: {one.reason}",
            fix=f"repair `{one.snapshot}.json` in the store, or move it out of the store to give it up;"
            " until then no snapshot is removed",
        )


def _half_restored(settings: Settings, environment: Mapping[str, str]) -> Iterator[Problem]:
    """On one machine the notes can be read here; elsewhere `doctor` asks the node."""
    if settings.profile.scheduler != "none":
        return
    restoring = read_restoring(find_workspace(settings.profile, environment))
    if restoring is not None:
        yield Problem(
            name="restore.incomplete",
            detail=f"the restore of {restoring.snapshot} did not finish: the workspace is half of two"
            " states, and no backup is taken of it",
            fix="`scratchflow restore` finishes it, `scratchflow restore --abandon` leaves it as it is",
        )


def _workspace_gone(workspace: WorkspaceShown, held: Allocation | None) -> Iterator[Problem]:
    """Only the auto-backup of a job says so: it was started because there was a workspace."""
    if workspace.exists is False and held and held.job_id is not None:
        yield Problem(
            name="workspace.missing",
            detail=f"`{workspace.path}` is not on `{held.node}` any more",
            fix="`scratchflow restore` brings it back",
        )


def _workspace_behind(workspace: WorkspaceShown, catalogue: Catalogue) -> Iterator[Problem]:
    """A copy that an earlier job left, or one beside which work went on on another node."""
    base = workspace.base_snapshot
    newer = newer_elsewhere(catalogue, base) if base else None
    if newer:
        yield Problem(
            name="workspace.behind",
            detail=f"the workspace came from snapshot {base} and does not continue the newest one, {newer}",
            fix="`scratchflow restore` brings the newest one, and saves first what is there;"
            " the next backup makes what is there the newest",
        )


def _snapshots(
    catalogue: Catalogue, verified: Mapping[str, Verification], now_s: float
) -> SnapshotsShown:
    last = catalogue.newest_readable
    if last is None:
        return SnapshotsShown(count=0)
    taken = epoch(last.time)
    checks = [verified_at(one, verified, now_s) for one in catalogue.snapshots]
    known = [checked_s for checked_s in checks if checked_s is not None]
    return SnapshotsShown(
        count=len(catalogue.snapshots),
        last_id=last.id,
        last_time=last.time,
        last_age_s=None if taken is None else max(0, int(now_s - taken)),
        recent=[_recent(one) for one in catalogue.snapshots if _is_recent(one, now_s)],
        oldest_check_s=int(now_s - min(known)) if len(known) == len(checks) else None,
    )


def _is_recent(manifest: Manifest, now_s: float) -> bool:
    taken = epoch(manifest.time)
    return taken is not None and now_s - taken < _DAY_S


def _recent(manifest: Manifest) -> RecentSnapshot:
    return RecentSnapshot(
        id=manifest.id,
        time=manifest.time,
        kind=manifest.kind,
        stored_bytes=manifest.archive_bytes,
    )


def autobackup_shown(
    settings: Settings, place: StoreDirectory, held: Allocation | None, now: Now
) -> AutobackupShown:
    """The auto-backup of the node that is held, by its last sign of life."""
    every_s = settings.profile.backup.every.seconds
    heartbeat = read_heartbeat(place, held.node) if held and held.node else None
    if heartbeat and held and not heartbeat.is_of(held.job_id, held.name):
        heartbeat = None
    if heartbeat is None or held is None or heartbeat.phase == "ended":
        return AutobackupShown(
            enabled=False, every_s=every_s, last_error=heartbeat.last_error if heartbeat else None
        )
    alive = now.is_alive(heartbeat)
    return AutobackupShown(
        enabled=True,
        every_s=heartbeat.every_s,
        next_time=heartbeat.next_time,
        last_time=heartbeat.last_time,
        last_error=heartbeat.last_error,
        overdue=alive is False,
        priority=heartbeat.priority,
        alive=alive,
        other_settings=heartbeat.settings not in {"", settings_digest(settings.profile)},
        warnings=heartbeat.warnings,
        unsaved=heartbeat.unsaved,
        unsaved_paths=heartbeat.unsaved_paths,
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


def _problems(
    jobs: list[Allocation], held: Allocation | None, autobackup: AutobackupShown
) -> Iterator[Problem]:
    open_jobs = [job for job in jobs if job.state in OPEN]
    if len(open_jobs) > 1:
        numbers = ", ".join(str(job.job_id) for job in open_jobs)
        yield Problem(
            name="allocation.several",
            detail=f"jobs {numbers} are all of this profile",
            fix="`scratchflow hop` finishes a move, `scratchflow clear` gives all of them back",
        )
    if held is None and jobs and jobs[-1].cause not in {None, "cancelled", "completed"}:
        last = jobs[-1]
        reason = CAUSE_TEXTS[last.cause] if last.cause else ""
        detail = f"job {last.job_id} on `{last.node or '?'}` has ended: {reason}"
        fix = "`scratchflow up` takes another node"
        yield Problem(name="allocation.ended", detail=detail, fix=fix)
    if autobackup.overdue:
        yield Problem(
            name="autobackup.overdue",
            detail="the auto-backup gives no sign of life",
            fix="`scratchflow status --fix` starts it again",
        )
    elif autobackup.enabled and autobackup.alive is None:
        yield Problem(
            name="autobackup.unknown",
            detail="the last sign of life of the auto-backup lies in the future, because the clocks of"
            " its node and of this host differ; whether it still runs is not known",
            fix="`scratchflow autobackup on` asks Slurm, and starts it if it does not run",
        )
    elif autobackup.other_settings:
        yield Problem(
            name="autobackup.other_settings",
            detail="the auto-backup was started with other settings than the profile has now",
            fix="`scratchflow autobackup on` starts it again with these",
        )
    if autobackup.last_error and not autobackup.overdue:
        yield Problem(
            name="autobackup.failed",
            detail=f"the last automatic backup failed: {autobackup.last_error}",
            fix="`scratchflow backup` shows why",
        )


def _forgotten(
    login: LoginHost, jobs: list[Allocation], living: tuple[Heartbeat, ...]
) -> Iterator[Problem]:
    """A slurmctld that is killed may forget its youngest jobs. Ended ones it remembers for minutes."""
    known = {None, *(job.job_id for job in jobs)}
    if all(heartbeat.job_id in known for heartbeat in living):
        return
    # Another profile may use the same store.
    known |= {job.job_id for job in our_jobs(login.slurm, ended=True)}
    for heartbeat in living:
        if heartbeat.job_id not in known:
            detail = f"job {heartbeat.job_id} ran on `{heartbeat.node}` until {heartbeat.time}, and Slurm has lost it"
            fix = "what was saved is safe; `scratchflow up` takes a node"
            yield Problem(name="allocation.forgotten", detail=detail, fix=fix)


def _wants_session(login: LoginHost, held: Allocation | None) -> bool:
    """Whether there ought to be a session: not where it is the allocation itself, nor without tmux."""
    is_held = held is not None and held.state == "running"
    return is_held and login.has_tmux and login.profile.scheduler == "slurm"


def _lost_session(session: SessionShown) -> Iterator[Problem]:
    if session.alive is False:
        yield Problem(
            name="session.lost",
            detail=f"the node is still ours, but there is no tmux session on `{session.host}`",
            fix="`scratchflow attach` opens it again",
        )
