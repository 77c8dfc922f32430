"""`nodes`: what the cluster has, what of it is free, and which nodes are warm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from scratchflow.cluster.slurm.nodes import nodes as slurm_nodes
from scratchflow.cluster.slurm.nodes import partitions
from scratchflow.cluster.slurm.request import resource_options
from scratchflow.config.settings import Settings
from scratchflow.login.host import LoginHost
from scratchflow.login.status.jobs import profile_jobs
from scratchflow.model.allocation import HELD, GpuCount, Node, Partition
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.requests import Nothing
from scratchflow.model.results.allocation import GpuTypeShown, NodeRow, NodesShown, PartitionShown
from scratchflow.store.catalogue import newest_listed, read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.store.nodes import read_nodes
from scratchflow.store.retention.newer import newer_elsewhere
from scratchflow.workspace.workspace import expand


def show_nodes(login: LoginHost, _: Nothing) -> NodesShown:
    """The nodes as this login host sees them now."""
    if login.profile.scheduler == "none":
        raise SchedulerMissing(profile=login.settings.name)
    warm = warm_nodes(login.settings, login.environment)
    rows = [_row(node, warm) for node in slurm_nodes(login.slurm)]
    held = [node for job in profile_jobs(login) if job.state in HELD for node in job.nodes]
    known = _partitions(login)
    partition = _partition(login, known)
    return NodesShown(
        nodes=rows,
        partition=partition,
        partitions=[partition_shown(one, rows) for one in known if one.up],
        held=held,
        gpu_types=gpu_types(rows, partition),
        asks=" ".join(resource_options(login.profile.slurm)),
    )


def partition_shown(partition: Partition, nodes: Sequence[Node]) -> PartitionShown:
    """What a request can get there: as much as its largest node has, and as Slurm allows."""
    there = [one for one in nodes if partition.name in one.partitions]
    return PartitionShown(
        name=partition.name,
        max_time_s=partition.max_time_s,
        most_cpus=_most([one.cpus for one in there], partition.max_cpus),
        most_memory_bytes=_most([one.memory_bytes for one in there], partition.max_memory_bytes),
        gpu_types=gpu_types(there, partition.name),
    )


def _most(amounts: Sequence[int], limit: int | None) -> int | None:
    if not amounts:
        return limit
    return max(amounts) if limit is None else min(max(amounts), limit)


def gpu_types(nodes: Sequence[Node], partition: str | None) -> list[GpuTypeShown]:
    """The GPUs of the nodes that a request could get, by type, in Slurm's order."""
    wanted = set((partition or "").split(",")) - {""}
    found: dict[str, list[GpuCount]] = {}
    for node in nodes:
        if not wanted or wanted & set(node.partitions):
            for one in node.gpus_by_type:
                found.setdefault(one.type, []).append(one)
    return [
        GpuTypeShown(
            type=kind,
            total=sum(one.total for one in counts),
            free=sum(one.free or 0 for one in counts),
            most_on_a_node=max(one.total for one in counts),
            most_free_on_a_node=max(one.free or 0 for one in counts),
            is_exact=all(one.free is not None for one in counts),
        )
        for kind, counts in found.items()
    ]


def _partitions(login: LoginHost) -> Sequence[Partition]:
    """What Slurm has; nothing when it does not tell."""
    with suppress(SlurmUnreachable):
        return partitions(login.slurm)
    return ()


def _partition(login: LoginHost, known: Sequence[Partition]) -> str | None:
    """The partition that a request would go to; None when nobody says."""
    default = next((one.name for one in known if one.default), None)
    return login.profile.slurm.partition or default


def warm_nodes(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """Which nodes hold a copy, and of which snapshot; none when the store is out of order.

    Warmth saves time. Whoever needs the store itself will be told what is wrong with it.
    """
    profile = settings.profile
    try:
        place = find_place(expand(profile.store, environment), profile.workspace)
        kept = [record for record in read_nodes(place) if not record.goes_with_job]
        return {record.node: record.snapshot for record in kept}
    except StoreUnusable:
        return {}


def newest_not(snapshot: str | None, settings: Settings, environment: Mapping[str, str]) -> str:
    """The newest snapshot, when a node's copy is of another one; empty when it is of that, or nobody knows."""
    profile = settings.profile
    try:
        place = find_place(expand(profile.store, environment), profile.workspace)
        if snapshot is None or snapshot == newest_listed(place):
            return ""
        # The last in the listing may be a fork, or what a restore of this very snapshot committed again.
        return newer_elsewhere(place, read_catalogue(place), snapshot) or ""
    except StoreUnusable:
        return ""


def _row(node: Node, warm: Mapping[str, str]) -> NodeRow:
    return NodeRow(**msgspec.structs.asdict(node), warm=warm.get(node.name))
