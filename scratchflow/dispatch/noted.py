"""What a result tells that later commands can use without asking: names to complete, the last request."""

from __future__ import annotations

from collections.abc import Iterable

from scratchflow.config.remembered import recall, remember
from scratchflow.config.settings import Settings
from scratchflow.model.profile import to_plain
from scratchflow.model.results.allocation import NodeHeld, NodesShown
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.results.base import Result
from scratchflow.model.results.jobs import JobsListed, JobsPruned, Submitted
from scratchflow.model.results.snapshots import SnapshotsListed, SnapshotsPruned
from scratchflow.model.results.status import StatusShown
from scratchflow.model.results.up import MadeReady


def note(settings: Settings, done: Result) -> None:
    """Remembers it for the profile, on the machine that the command was typed on."""
    if isinstance(done, NodesShown):
        partitions = dict.fromkeys(name for node in done.nodes for name in node.partitions)
        names = tuple(node.name for node in done.nodes)
        remember(settings.name, nodes=names, partitions=tuple(partitions))
    elif isinstance(done, SnapshotsListed):
        remember(settings.name, snapshots=tuple(row.id for row in done.snapshots))
    elif isinstance(done, BackupTaken) and done.kind != "unchanged" and not done.dry_run:
        _add_snapshots(settings.name, [done.snapshot or ""], gone=done.pruned)
    elif isinstance(done, StatusShown):
        _add_snapshots(settings.name, [recent.id for recent in done.snapshots.recent])
    elif isinstance(done, JobsListed):
        _add_jobs(settings.name, [job.number for job in done.jobs])
    elif isinstance(done, SnapshotsPruned | JobsPruned) and not done.dry_run:
        _forget_pruned(settings.name, done)
    elif isinstance(done, Submitted) and not done.dry_run:
        _add_jobs(settings.name, [done.number, *done.more])
    elif isinstance(done, MadeReady):
        note(settings, done.seen)
    elif isinstance(done, NodeHeld) and not done.reused and not done.dry_run:
        remember(settings.name, slurm=to_plain(settings.profile.slurm))


def _add_jobs(profile: str, numbers: Iterable[int | None]) -> None:
    """Those that are named now count as the newest: numbers may begin again when Slurm lost its state."""
    new = [str(number) for number in numbers if number is not None]
    known = [number for number in recall(profile).jobs if number not in new]
    remember(profile, jobs=(*known, *new))


def _forget_pruned(profile: str, done: SnapshotsPruned | JobsPruned) -> None:
    if isinstance(done, SnapshotsPruned):
        _add_snapshots(profile, [], gone=done.removed)
        return
    gone = {str(job.number) for job in done.removed}
    remember(profile, jobs=tuple(one for one in recall(profile).jobs if one not in gone))


def _add_snapshots(profile: str, ids: Iterable[str], gone: Iterable[str] = ()) -> None:
    """Ids sort by time."""
    known = recall(profile).snapshots
    remember(profile, snapshots=tuple(sorted({*known, *ids} - {*gone})))
