"""Whether the job that we are in is the profile's own, and this its first node."""

from __future__ import annotations

from collections.abc import Mapping

from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.cluster.slurm.jobs import our_jobs
from scratchflow.cluster.this_host import node_name
from scratchflow.config.settings import Settings
from scratchflow.dispatch.located import with_store_found
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.store.directory import find_place
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.workspace import expand


def is_job_of(settings: Settings, job_id: int | None, environment: Mapping[str, str]) -> bool:
    """Whether the job's first node is this one, where its workspace is.

    Slurm knows. While it does not answer, the store does: this job has saved or restored here.
    """
    try:
        jobs = our_jobs(this_slurm(environment), settings.name)
    except SlurmUnreachable:
        if _has_worked_here(settings, job_id, environment):
            return True
        raise
    others = {node for job in jobs if job.job_id == job_id for node in job.nodes[1:]}
    return any(job.job_id == job_id for job in jobs) and node_name(environment) not in others


def _has_worked_here(
    settings: Settings, job_id: int | None, environment: Mapping[str, str]
) -> bool:
    settings = with_store_found(settings, environment)
    place = find_place(expand(settings.profile.store, environment), settings.profile.workspace)
    node = node_name(environment)
    return any(record.node == node and record.job_id == job_id for record in read_nodes(place))
