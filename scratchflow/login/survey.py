"""What a login host offers: partitions, places for the store and for scratch. `setup` proposes from it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.cluster.command import command_environment, local_run
from scratchflow.cluster.slurm.accounts import accounts
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.nodes import nodes, partitions, slurm_settings
from scratchflow.disk.file_systems import file_system_of, is_shared
from scratchflow.login.host import LoginHost
from scratchflow.login.job_places import places_in_job, tmpdir_prolog
from scratchflow.login.quota import quota_left_bytes
from scratchflow.login.site_marks import look_for_marks
from scratchflow.model.allocation import Node, Partition
from scratchflow.model.errors.slurm import SlurmMissing, SlurmUnreachable
from scratchflow.model.requests import Survey
from scratchflow.model.results.setup import PartitionSeen, PlaceSeen, Surveyed
from scratchflow.process.parallel import as_done
from scratchflow.workspace.usual_scratch import SCRATCHES
from scratchflow.workspace.workspace import expand

# Where clusters keep what login hosts and nodes share. Not their scratch: it is cleared.
SHARED_ROOTS = ("/fsx", "/work", "/project", "/projects", "/data", "/shared", "/gpfs", "/lustre")
HOME_STORE = "~/scratchflow"
_NO_MARKS = Survey()


def survey(login: LoginHost, asked: Survey = _NO_MARKS) -> Surveyed:
    """Looks and changes nothing, at Slurm and storage at once. Slurm may be away: the rest is told all the same."""
    environment = login.environment
    facts: dict[str, Any] = dict(
        as_done(
            {
                "slurm": lambda: _slurm(login),
                "accounts": lambda: _accounts(login.slurm),
                "stores": lambda: list(_usable_stores(environment, login.user)),
                "scratches": lambda: list(_scratches_here(environment)),
                "marks": lambda: _marks(asked, environment, login.user),
            }
        )
    )
    return Surveyed(
        user=login.user,
        home=str(login.home),
        stores=facts["stores"],
        scratches=facts["scratches"],
        **facts["slurm"],
        **facts["accounts"],
        **facts["marks"],
    )


def _accounts(slurm: Slurm) -> dict[str, Any]:
    found = accounts(slurm)
    return {"account_refusal": found.refusal, "accounts": list(found.names)}


def _marks(asked: Survey, environment: Mapping[str, str], user: str) -> dict[str, Any]:
    found = look_for_marks(asked, environment, local_run(command_environment(environment)))
    return {
        "host": found.host,
        "variables": list(found.variables),
        "directories": list(found.directories),
        "site_stores": list(_with_quotas(found.stores, environment, user)),
    }


def _slurm(login: LoginHost) -> dict[str, Any]:
    """What Slurm says of itself, or why it does not."""
    try:
        found, settings = partitions(login.slurm), slurm_settings(login.slurm)
    except SlurmUnreachable as error:
        has_slurm = not isinstance(error, SlurmMissing)
        return {
            "cluster": "",
            "partitions": [],
            "slurm_problem": error.fields["reason"],
            "has_slurm": has_slurm,
        }
    job_id, in_job = places_in_job(login.slurm) if found else (None, [])
    return {
        "job_id": job_id,
        "in_job": in_job,
        "tmpdir_prolog": tmpdir_prolog(settings),
        "cluster": settings.get("ClusterName", ""),
        "partitions": list(_partitions(login.slurm, found)),
        "node_tmp": settings.get("TmpFS", ""),
    }


def _partitions(slurm: Slurm, found: Iterable[Partition]) -> Iterator[PartitionSeen]:
    """Those that take jobs, each with the size of its largest node."""
    sizes: list[Node] = []
    with suppress(SlurmUnreachable):  # a site may bar that alone
        sizes = nodes(slurm)
    for one in found:
        if not one.up:
            continue
        of_it = [node for node in sizes if one.name in node.partitions]
        yield PartitionSeen(
            name=one.name,
            is_default=one.default,
            max_time_s=one.max_time_s,
            most_cpus=max((node.cpus for node in of_it), default=0),
            most_gpus=max((node.gpus for node in of_it), default=0),
        )


def _usable_stores(environment: Mapping[str, str], user: str) -> Iterator[PlaceSeen]:
    """Places that this user may write to, the home first, each with its quota."""
    places = {HOME_STORE: expand("~", environment)}
    for path in store_candidates(SHARED_ROOTS, environment):
        nearest = _nearest(expand(path, environment))
        if nearest != Path("/") and os.access(nearest, os.W_OK | os.X_OK):
            places[path] = nearest
    return _with_quotas(places, environment, user)


def _with_quotas(
    places: Mapping[str, Path], environment: Mapping[str, str], user: str
) -> Iterator[PlaceSeen]:
    """Each place, given as a profile writes it and as this host has it, with what the user's quota leaves there."""
    run = local_run(command_environment(environment))
    quotas = dict(
        as_done({path: partial(quota_left_bytes, places[path], user, run) for path in places})
    )
    for path, directory in places.items():
        seen = _seen(path, directory)
        yield msgspec.structs.replace(seen, quota_left_bytes=quotas[path])


def store_candidates(roots: Iterable[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Beneath each root that is there: the user's own directory, wherever sites put it."""
    for root in roots:
        if not os.path.isdir(root):
            continue
        own = (f"{root}/users/$USER", f"{root}/home/$USER", f"{root}/$USER")
        there = [path for path in own if os.path.isdir(expand(path, environment))]
        yield f"{there[0] if there else own[-1]}/scratchflow"


def _scratches_here(environment: Mapping[str, str]) -> Iterator[PlaceSeen]:
    """As this host has them, which says something about the nodes, but not all."""
    for path in SCRATCHES:
        root = expand(path, environment).parent
        if os.path.isdir(root):
            yield _seen(path, root)


def _seen(path: str, directory: Path) -> PlaceSeen:
    kind = file_system_of(directory)
    return PlaceSeen(
        path=path,
        free_bytes=shutil.disk_usage(directory).free,
        file_system=kind,
        is_shared=is_shared(kind),
    )


def _nearest(path: Path) -> Path:
    # Unlike `Path.is_dir`, no error beneath a directory that we may not search.
    return next(one for one in (path, *path.parents) if os.path.isdir(one))
