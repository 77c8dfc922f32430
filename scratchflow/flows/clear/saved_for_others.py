"""Which other profiles rely on the auto-backup that ends with a job: one that saves the same workspace is not started twice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from scratchflow.dispatch.cluster import Cluster
from scratchflow.flows.clear.whose_workspace import others_here
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.events import Warned
from scratchflow.model.requests import Nothing
from scratchflow.model.results.backup import AutobackupStatus
from scratchflow.model.results.status import AllocationShown, ElsewhereShown
from scratchflow.node.autobackup.settings import saves_the_same, settings_digest


def tell_who_is_not_saved(
    cluster: Cluster, jobs: Sequence[AllocationShown], elsewhere: Sequence[ElsewhereShown]
) -> None:
    """Warns of the profiles whose work nothing saves by itself when the auto-backup of these jobs has ended."""
    nodes = {node for job in jobs for node in [*job.nodes, job.node] if node}
    there = {one.profile: one.node for one in elsewhere if one.node in nodes}
    if not there:
        return
    ours = settings_digest(cluster.settings.profile)
    same = [
        name for name, one in others_here(cluster) if name in there and saves_the_same(one, ours)
    ]
    if not same or not _has_own_loop(cluster, nodes):
        return
    for name in same:
        message = (
            f"the auto-backup that ends with this job also saves the workspace of profile `{name}` on `{there[name]}`:"
            f" `scratchflow -p {name} autobackup on` then starts another"
        )
        cluster.emit(Warned(code="autobackup.ends", message=message))


def _has_own_loop(cluster: Cluster, nodes: set[str]) -> bool:
    """Whether the auto-backup there is of this profile's job, and not of the other one's."""
    with suppress(ScratchflowError):  # what is wrong with the store, the last backup says
        seen = cluster.on_login("autobackup status", Nothing(), AutobackupStatus)
        shown = seen.autobackup
        return seen.node in nodes and shown.enabled and not shown.of_profile
    return False
