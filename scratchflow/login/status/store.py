"""Workspace, snapshots and auto-backup as `status` shows them, from what the store tells."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

import msgspec

from scratchflow.cluster.slurm.request import profile_of
from scratchflow.cluster.this_host import node_name
from scratchflow.config.settings import Settings
from scratchflow.login.status.former_scratch import is_of_other_place
from scratchflow.model.allocation import Allocation
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import (
    RecentSnapshot,
    SnapshotsShown,
    WorkspaceShown,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.model.times import epoch
from scratchflow.node.autobackup.settings import saves_the_same, settings_digest
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.checks.verified import Verification, verified_at
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import (
    Heartbeat,
    OtherWorkspace,
    Pulses,
    covering,
    read_heartbeats,
)
from scratchflow.store.nodes import NodeRecord, read_nodes
from scratchflow.workspace.job_scratch import goes_with_job
from scratchflow.workspace.notes import read_base_note, read_restoring
from scratchflow.workspace.workspace import Workspace, expand

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


class NodeFiles(msgspec.Struct, frozen=True):
    """What the store has of nodes, read once for a look: each file may be a round trip to its server."""

    records: list[NodeRecord]
    # Of every node that ever had an auto-backup.
    heartbeats: list[Heartbeat]

    def record_of(self, held: Allocation | None) -> NodeRecord | None:
        """The record of the node that is held."""
        node = held.node if held else None
        return next((one for one in self.records if one.node == node), None)

    def heartbeat_of(self, held: Allocation | None) -> Heartbeat | None:
        """The last sign of life on the node that is held, of whatever job."""
        node = held.node if held else None
        return next((one for one in self.heartbeats if one.node == node), None)

    def current_of(self, held: Allocation | None) -> Heartbeat | None:
        """The same of the very job that is held, unless that was its end."""
        heartbeat = self.last_of(held)
        return heartbeat if heartbeat and heartbeat.phase != "ended" else None

    def last_of(self, held: Allocation | None) -> Heartbeat | None:
        """The same of the very job that is held, also when that was its end."""
        heartbeat = self.heartbeat_of(held)
        if heartbeat is None or held is None:
            return None
        return heartbeat if heartbeat.is_of(held.job_id, held.name) else None


def read_node_files(place: StoreDirectory) -> NodeFiles:
    """All of them, as they are now."""
    return NodeFiles(read_nodes(place), read_heartbeats(place))


def workspace_shown(
    settings: Settings,
    environment: Mapping[str, str],
    files: NodeFiles,
    held: Allocation | None,
    workspace: Workspace,
    catalogue: Catalogue,
) -> WorkspaceShown:
    """The workspace: looked at if it is on this machine, else from the heartbeat or the node's record."""
    seen = _workspace_seen(settings, environment, files, held, workspace, catalogue)
    job, scratch = held.job_id if held else None, str(workspace.scratch)
    goes = goes_with_job(settings.profile.scratch, scratch, job)
    return msgspec.structs.replace(seen, goes_with_job=goes)


def _workspace_seen(
    settings: Settings,
    environment: Mapping[str, str],
    files: NodeFiles,
    held: Allocation | None,
    workspace: Workspace,
    catalogue: Catalogue,
) -> WorkspaceShown:
    path = str(workspace.path)
    if is_here(settings, environment, held):
        store = expand(settings.profile.store, environment)
        exists = os.path.isdir(workspace.path)
        note = read_base_note(workspace, store) if exists else None
        listed = {one.id for one in catalogue.snapshots}
        base = note.present(listed.__contains__) if note else None
        return WorkspaceShown(path=path, exists=exists, base_snapshot=base)
    record = _record_of(workspace, files, held)
    heartbeat = files.current_of(held)
    is_gone = heartbeat is not None and heartbeat.workspace_exists is False
    if heartbeat is not None and is_gone and not _was_noted_since(heartbeat, record):
        return WorkspaceShown(path=path, exists=False, base_snapshot=None, seen_time=heartbeat.time)
    if record is None:
        exists_there = heartbeat.workspace_exists if heartbeat else None
        return WorkspaceShown(path=path, exists=exists_there, base_snapshot=None)
    if half_restored_from(settings, environment, files, held, workspace):
        return WorkspaceShown(path=path, exists=True, base_snapshot=None, seen_time=record.time)
    seen = heartbeat.time if heartbeat and heartbeat.workspace_exists else record.time
    exists_now = True if heartbeat or _is_of_this_job(record, held) else None
    return WorkspaceShown(
        path=path, exists=exists_now, base_snapshot=_last_taken(record, catalogue), seen_time=seen
    )


def _record_of(
    workspace: Workspace, files: NodeFiles, held: Allocation | None
) -> NodeRecord | None:
    """The record of the node that is held, unless it is of a copy that went with its job, or of one on another scratch."""
    record = files.record_of(held)
    if record is None or (held and record.is_of(held.job_id, held.name)):
        return record
    is_gone = record.goes_with_job and not (held and record.job_id == held.job_id)
    return None if is_gone or is_of_other_place(record, workspace) else record


def _last_taken(record: NodeRecord, catalogue: Catalogue) -> str:
    """The snapshot that the copy on a node continues, also when whoever took it was ended before that was recorded."""
    since = [
        one
        for one in catalogue.snapshots
        if (one.parent, one.node, one.job_id) == (record.snapshot, record.node, record.job_id)
        and one.time > record.time
        and one.purpose != "restored"
        and not one.beside
    ]
    return since[-1].id if since else record.snapshot


def _was_noted_since(heartbeat: Heartbeat, record: NodeRecord | None) -> bool:
    """Whether a backup or restore of the same job has seen the workspace after the auto-backup's last look."""
    if record is None or not record.is_of(heartbeat.job_id, heartbeat.job_name):
        return False
    return record.time > heartbeat.time


def half_restored_from(
    settings: Settings,
    environment: Mapping[str, str],
    files: NodeFiles,
    held: Allocation | None,
    workspace: Workspace,
) -> str:
    """The snapshot of a restore that has changed the workspace and is not through; empty when there is none.

    On its own machine the notes beside the workspace say so, elsewhere the node's record.
    """
    if is_here(settings, environment, held):
        found = read_restoring(workspace)
        return found.snapshot if found else ""
    record = _record_of(workspace, files, held)
    return record.restoring if record and _is_of_this_job(record, held) else ""


def _is_of_this_job(record: NodeRecord, held: Allocation | None) -> bool:
    """Whether the record was written in this job: between two jobs a site may empty its scratch."""
    if held is None or record.is_of(held.job_id, held.name):
        return True
    written_s = epoch(record.time)
    return written_s is not None and held.start_time is not None and written_s >= held.start_time


def is_here(settings: Settings, environment: Mapping[str, str], held: Allocation | None) -> bool:
    """Whether the workspace is on this machine."""
    node = held.node if held else None
    return settings.profile.scheduler == "none" or node == node_name(environment)


def snapshots_shown(
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
        last_message=last.message,
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
    settings: Settings,
    place: StoreDirectory,
    files: NodeFiles,
    held: Allocation | None,
    now: Now,
    jobs_of_others: Sequence[Allocation] = (),
) -> AutobackupShown:
    """The auto-backup of the node that is held, by its last sign of life, and on which further nodes one runs.

    Another profile may name the same workspace and store: the one of its job, if that is among `jobs_of_others`, saves it as well.
    """
    shown = _autobackup_of_node(settings, place, files, held, now)
    theirs = files.heartbeat_of(held)
    if theirs and held and not shown.enabled:
        shown = _of_other_profile(settings, theirs, jobs_of_others, now) or shown
    running = held.granted() if held else None
    if running is None or not shown.enabled:
        return shown
    further = {
        there.node: _autobackup_of_node(settings, place, files, there, now)
        for there in map(running.on, running.nodes[1:])
    }
    others = [node for node, one in further.items() if one.enabled and not one.overdue]
    return msgspec.structs.replace(
        shown,
        others=others,
        missing_on=[node for node in further if node not in others],
        failed_on={
            node: further[node].last_error or "" for node in others if further[node].last_error
        },
    )


def _autobackup_of_node(
    settings: Settings,
    place: StoreDirectory,
    files: NodeFiles,
    held: Allocation | None,
    now: Now,
) -> AutobackupShown:
    every_s = settings.profile.backup.every.seconds
    heartbeat = files.heartbeat_of(held)
    if heartbeat and held and not heartbeat.is_of(held.job_id, held.name):
        heartbeat = None
    if (heartbeat is None or heartbeat.phase == "ended") and held and held.node:
        workspace = settings.profile.workspace
        root = place.directory.parents[workspace.count("/")]
        found = covering(root, workspace, held.node, held.job_id, held.name)
        if found is not None:
            return _shared_autobackup(*found, now)
    if heartbeat is None or held is None or heartbeat.phase == "ended":
        return AutobackupShown(
            enabled=False,
            every_s=every_s,
            last_error=heartbeat.last_error if heartbeat else None,
            switched_off=heartbeat is not None,
        )
    differs = heartbeat.settings not in {"", settings_digest(settings.profile)}
    return msgspec.structs.replace(
        _as_shown(heartbeat, alive=now.is_alive(heartbeat)), other_settings=differs
    )


def _as_shown(heartbeat: Heartbeat, *, alive: bool | None) -> AutobackupShown:
    """What a heartbeat says of the auto-backup that wrote it."""
    return AutobackupShown(
        enabled=True,
        every_s=heartbeat.every_s,
        next_time=heartbeat.next_time,
        next_why=heartbeat.next_why,
        last_time=heartbeat.last_time,
        last_error=heartbeat.last_error,
        overdue=alive is False,
        priority=heartbeat.priority,
        alive=alive,
        warnings=heartbeat.warnings,
        unsaved=heartbeat.unsaved,
        unsaved_paths=heartbeat.unsaved_paths,
    )


def _of_other_profile(
    settings: Settings, heartbeat: Heartbeat, jobs: Sequence[Allocation], now: Now
) -> AutobackupShown | None:
    """The auto-backup of another profile's job that saves this very workspace into this very store, or keeps this profile's off the node."""
    profile = profile_of(heartbeat.job_name)
    is_held = any(
        job.state == "running" and heartbeat.is_of(job.job_id, job.name or "") for job in jobs
    )
    if not is_held or profile in {None, settings.name} or now.is_alive(heartbeat) is not True:
        return None
    if not saves_the_same(settings.profile, heartbeat.settings):
        every_s = settings.profile.backup.every.seconds
        return AutobackupShown(
            enabled=False,
            every_s=every_s,
            kept_off_by=profile or "",
            kept_off_job=heartbeat.job_id,
        )
    return msgspec.structs.replace(_as_shown(heartbeat, alive=True), of_profile=profile or "")


def _shared_autobackup(heartbeat: Heartbeat, other: OtherWorkspace, now: Now) -> AutobackupShown:
    """The auto-backup of another workspace on the node, which saves this one too."""
    alive = now.is_alive(heartbeat)
    return AutobackupShown(
        enabled=True,
        every_s=heartbeat.every_s,
        next_time=heartbeat.next_time,
        next_why=heartbeat.next_why,
        last_time=other.time,
        last_error=other.error or None,
        overdue=alive is False,
        priority=heartbeat.priority,
        alive=alive,
        of_workspace=heartbeat.workspace,
    )
