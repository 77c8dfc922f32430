"""`status`, as seen from the login host: allocation, session, store, auto-backup."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from scratchflow.cluster.this_host import node_name
from scratchflow.login.host import LoginHost
from scratchflow.login.status.copy_looks import CopyLooks, copies_differ
from scratchflow.login.status.failed_nodes import (
    left_on_failed_nodes,
    work_on_failed_nodes,
)
from scratchflow.login.status.former_scratch import (
    left_at_former_scratch,
    workspace_at_former_scratch,
)
from scratchflow.login.status.idle import KnownCatalogue
from scratchflow.login.status.jobs import (
    JobsSeen,
    allocation_shown,
    elsewhere_shown,
    jobs_seen,
    meant_of,
)
from scratchflow.login.status.mirror import mirror_behind, mirror_shown
from scratchflow.login.status.problems import (
    autobackup_off,
    fewer_nodes,
    forgotten_jobs,
    job_problems,
    lost_session,
    store_away_on_node,
    store_id_problem,
    store_lost_problem,
    store_moved_problem,
    store_replaced_problem,
    store_unwritable_problem,
    unreadable_snapshots,
    unsaved_others,
)
from scratchflow.login.status.running import running_shown
from scratchflow.login.status.saved import saved_shown
from scratchflow.login.status.store import (
    NodeFiles,
    Now,
    autobackup_shown,
    half_restored_from,
    read_node_files,
    snapshots_shown,
    workspace_shown,
)
from scratchflow.login.status.store_problems import store_problems
from scratchflow.login.status.usage import UsageLooks, scratch_nearly_full
from scratchflow.login.status.workspace_problems import (
    at_former_scratch,
    environment_missing,
    half_restored,
    workspace_behind,
    workspace_gone,
    workspace_linked,
    workspace_renamed,
)
from scratchflow.model.allocation import Allocation, ThisMachine, with_node
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.model.requests import PLAIN_STATUS, ShowStatus
from scratchflow.model.results.backup import AutobackupShown, CopyShown
from scratchflow.model.results.status import (
    MirrorShown,
    OtherShown,
    Problem,
    RunningShown,
    SavedShown,
    ServerShown,
    SessionShown,
    SnapshotsShown,
    StatusShown,
    WorkspaceShown,
)
from scratchflow.process.parallel import Meanwhile
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.checks.verified import Verification, read_verified
from scratchflow.store.checks.writable import WriteTrial
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.heartbeats import Heartbeat, Pulses
from scratchflow.workspace.servers import read_servers
from scratchflow.workspace.workspace import Workspace, expand


def look(
    login: LoginHost,
    asked: ShowStatus = PLAIN_STATUS,
    *,
    pulses: Pulses | None = None,
    trial: WriteTrial | None = None,
    copies: CopyLooks | None = None,
    usage: UsageLooks | None = None,
    catalogue: KnownCatalogue | None = None,
    found: JobsSeen | None = None,
) -> StatusShown:
    """Everything that the login host can see now. What is given as `pulses`, `trial`, `copies`,
    `usage` and `catalogue` remembers between looks.

    Slurm and tmux are asked while the store is read; Slurm is not when its jobs were `found` just now.
    """
    settings = login.settings
    now = Now(pulses)
    queue = Meanwhile(lambda: found or jobs_seen(login), "look-queue")
    tmux = Meanwhile(lambda: _session(login), "look-session")
    listed = _listed(login, catalogue or KnownCatalogue())
    jobs, others = queue.result()
    held = meant_of(login, jobs)
    in_use = (
        Meanwhile(lambda: (usage or UsageLooks()).look(login, held), "look-usage")
        if asked.usage
        else None
    )
    ended = {job.job_id for job in jobs if job.state == "ended" and job.job_id is not None}
    stored = _stored(login, held, now, trial or WriteTrial(), listed, others, ended)
    on_nodes = _copies(login, held, copies or CopyLooks())
    session = tmux.result()
    nodes_usage = in_use.result() if in_use else []
    problems = [
        *copies_differ(on_nodes, is_first_there=stored.workspace.exists is True),
        *job_problems(jobs, held, stored.autobackup),
        *_on_failed_nodes(login, jobs, others, held, listed),
        *fewer_nodes(held, login.profile.slurm.nodes),
        *(lost_session(session) if _wants_session(login, held) else ()),
        *forgotten_jobs(login, jobs, stored.living),
        *scratch_nearly_full(nodes_usage),
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
        servers=_servers(login, jobs),
        saved=stored.saved,
        mirror=stored.mirror,
        running=stored.running,
        usage=nodes_usage,
    )


def _on_failed_nodes(
    login: LoginHost,
    jobs: list[Allocation],
    others: Sequence[Allocation],
    held: Allocation | None,
    listed: _Listed | ScratchflowError,
) -> Iterator[Problem]:
    """What only the disks of nodes have that were held once; a store that cannot be read is told elsewhere."""
    scratch = login.profile.scratch
    files = None if isinstance(listed, ScratchflowError) else listed.files
    failed = work_on_failed_nodes(jobs, held, scratch, files)
    yield from failed.values()
    if files is None or login.profile.scheduler == "none":
        return
    named = {*(held.nodes if held else ()), *failed}
    open_jobs = {job.job_id for job in (*jobs, *others) if job.state != "ended"}
    yield from left_on_failed_nodes(files, open_jobs, named, scratch)


def _servers(login: LoginHost, jobs: list[Allocation]) -> list[ServerShown]:
    """What `serve` has started. Most people have nothing of that, and load nothing for it."""
    if not read_servers(login.home, login.settings.name):
        return []
    from scratchflow.login.serving.look import servers_on, shown

    return [shown(record) for record in servers_on(login, with_node(jobs))]


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
    saved: SavedShown | None = None
    mirror: MirrorShown | None = None
    running: RunningShown | None = None


class _Listed(msgspec.Struct, frozen=True):
    """The snapshots of the workspace, what is known of them, and of nodes."""

    place: StoreDirectory
    catalogue: Catalogue
    verified: Mapping[str, Verification]
    files: NodeFiles


def _listed(login: LoginHost, known: KnownCatalogue) -> _Listed | ScratchflowError:
    """What of the store does not depend on the job; the error, for `_stored` to show, if it cannot be read."""
    profile = login.profile
    try:
        place = find_place(expand(profile.store, login.environment), profile.workspace)
        files = read_node_files(place)
        return _Listed(place, known.read(place), read_verified(place), files)
    except ScratchflowError as error:
        return error


def _stored(
    login: LoginHost,
    held: Allocation | None,
    now: Now,
    trial: WriteTrial,
    listed: _Listed | ScratchflowError,
    jobs_of_others: Sequence[Allocation],
    ended_jobs: Container[int],
) -> _Stored:
    """What the store says. If it cannot be read, that is a problem to show, not an error."""
    settings, environment = login.settings, login.environment
    if held is None and settings.profile.scheduler == "none":
        # The auto-backup of one machine needs no session: it runs with or without.
        held = ThisMachine(name="", nodes=(node_name(environment),))
    try:
        if isinstance(listed, ScratchflowError):
            raise listed
        place, catalogue, verified = listed.place, listed.catalogue, listed.verified
        files = listed.files
        autobackup = autobackup_shown(settings, place, files, held, now, jobs_of_others)
        there = login.workspace_of(held)
        workspace = workspace_shown(settings, environment, files, held, there, catalogue)
        former = workspace_at_former_scratch(login, held, files.records)
        left = tuple(left_at_former_scratch(login, held, files.records))
        if former is not None:
            workspace = msgspec.structs.replace(workspace, path=former.fields["path"])
        if former is not None or left:  # the loop that saves it is to go on with its settings
            autobackup = msgspec.structs.replace(autobackup, other_settings=False)
        replaced = tuple(store_id_problem(place)) or (
            *store_lost_problem(login, place),
            *store_replaced_problem(login, held),
        )
        heartbeat = files.current_of(held)
        store = expand(settings.profile.store, environment)
        is_there = workspace.exists is True
        renamed = tuple(workspace_renamed(login, held, heartbeat, is_there=is_there))
        others = _others(there, files.last_of(held), store)
        snapshots = snapshots_shown(catalogue, verified, now.wall_s)
        to_lose = held if workspace.exists else None
        mirror = mirror_shown(settings.profile.backup.mirror, place, catalogue)
        return _Stored(
            workspace=workspace,
            directory=str(place.directory),
            others=others,
            snapshots=snapshots,
            mirror=mirror,
            running=running_shown(place, now.wall_s, ended_jobs),
            autobackup=autobackup,
            saved=saved_shown(snapshots, autobackup, files.record_of(held), to_lose, now.wall_s),
            living=tuple(one for one in files.heartbeats if now.is_alive(one)),
            problems=(
                *replaced,
                *store_moved_problem(login, place),
                *store_unwritable_problem(place, trial),
                *store_away_on_node(login, place, heartbeat),
                *half_restored(half_restored_from(settings, environment, files, held, there)),
                *unreadable_snapshots(catalogue),
                *at_former_scratch(former),
                *left,
                *(() if former or renamed else workspace_gone(workspace, held)),
                *autobackup_off(workspace, held, autobackup),
                *renamed,
                *workspace_linked(login, held, heartbeat),
                *environment_missing(login, held, heartbeat, is_there=is_there),
                *(() if replaced else workspace_behind(workspace, place, catalogue)),
                *store_problems(
                    place,
                    files.records,
                    catalogue,
                    autobackup,
                    verified,
                    now_s=now.wall_s,
                    has_mirror=mirror is not None,
                    workspace_exists=workspace.exists,
                ),
                *unsaved_others(others),
                *mirror_behind(mirror, now.wall_s),
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


def _others(workspace: Workspace, heartbeat: Heartbeat | None, store: Path) -> list[OtherShown]:
    if heartbeat is None or not heartbeat.others:
        return []
    from scratchflow.login.status.others import others_shown  # most nodes have no other one

    return others_shown(workspace, heartbeat, store)


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
