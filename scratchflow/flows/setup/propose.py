"""A profile proposed from what the cluster offers, with the reason beside each value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from scratchflow.config.sites import Site
from scratchflow.flows.setup.sites import values_for
from scratchflow.model.profile import Profile, SlurmOptions
from scratchflow.model.results.setup import PartitionSeen, PlaceSeen, SetupValue, Surveyed
from scratchflow.model.time_limit import slurm_time, time_limit_s
from scratchflow.model.units import format_duration, format_size

GIVEN = "your choice"
# What a person may change, in the order in which it is shown, and what it is called there.
LABELS = {
    "slurm.partition": "partition",
    "slurm.account": "account",
    "slurm.time": "time",
    "slurm.ntasks": "tasks",
    "slurm.cpus_per_task": "cores per task",
    "slurm.gpus": "GPUs",
    "slurm.extra": "more for Slurm",
    "store": "store",
    "scratch": "scratch",
    "workspace": "workspace",
    "alias": "ssh alias",
}
# What Slurm calls the nodes' temporary directory where nobody has set it: it says nothing.
_SLURMS_DEFAULT_TMP = "/tmp"  # noqa: S108 - compared, not used
_JOBS_OWN = "$SLURM_TMPDIR"
_LONGEST_S = time_limit_s(SlurmOptions().time) or 8 * 3600


def propose(
    seen: Surveyed, given: Mapping[str, str], *, alias: str, workspace: SetupValue, site: Site
) -> list[SetupValue]:
    """Every value that a new profile is written with; what was given stays as it is.

    What is known of the site comes before what can be guessed.
    """
    known = values_for(site, seen, given)
    partition = known.get("slurm.partition") or _partition(seen.partitions)
    wanted = given.get("slurm.partition") or partition.value
    guessed = [
        partition,
        time_for(wanted, seen.partitions),
        _store(seen.stores),
        _scratch(seen),
        workspace,
        SetupValue(key="alias", value=alias, reason=f"`ssh {alias}` leads to your node"),
    ]
    proposed = [*known.values(), *(one for one in guessed if one.key not in known)]
    asked = [
        SetupValue(key=key, value=value, reason=GIVEN) for key, value in given.items() if value
    ]
    keys = {one.key for one in asked}
    merged = [one for one in proposed if one.key not in keys and one.value] + asked
    order = list(LABELS)
    return sorted(merged, key=lambda one: order.index(one.key) if one.key in order else len(order))


def as_it_is(profile: Profile, given: Mapping[str, str]) -> list[SetupValue]:
    """A profile that is there already: its own values, and those that somebody wants otherwise."""
    options = profile.slurm
    own = {
        "slurm.partition": options.partition,
        "slurm.time": options.time,
        "store": profile.store,
        "scratch": profile.scratch,
        "workspace": profile.workspace,
        "alias": profile.alias,
    }
    return [
        SetupValue(
            key=key,
            value=given.get(key) or own.get(key, ""),
            reason=GIVEN if given.get(key) else "as it is",
        )
        for key in dict.fromkeys([*own, *given])
    ]


def _partition(partitions: Sequence[PartitionSeen]) -> SetupValue:
    default = next((one for one in partitions if one.is_default), None)
    if default is None:
        return SetupValue(key="slurm.partition", value="", reason="")
    others = ", ".join(one.name for one in partitions if one is not default)
    reason = "Slurm's default" + (f"; others: {others}" if others else "")
    return SetupValue(key="slurm.partition", value=default.name, reason=reason)


def time_for(partition: str, partitions: Sequence[PartitionSeen]) -> SetupValue:
    """Eight hours, or what the partition gives at most: some Slurms let a longer request wait for ever."""
    limit_s = next((one.max_time_s for one in partitions if one.name == partition), None)
    if limit_s is not None and limit_s < _LONGEST_S:
        reason = f"the longest that `{partition}` allows{_longer(limit_s, partitions)}"
        return SetupValue(key="slurm.time", value=slurm_time(limit_s), reason=reason)
    longest = f"; `{partition}` allows {format_duration(limit_s)}" if limit_s else ""
    reason = f"a working day{longest}"
    return SetupValue(key="slurm.time", value=slurm_time(_LONGEST_S), reason=reason)


def _longer(limit_s: int, partitions: Sequence[PartitionSeen]) -> str:
    """The partition that gives the most time, where it is more than that."""
    unlimited = float("inf")
    most = max(partitions, key=lambda one: one.max_time_s or unlimited)
    if most.max_time_s is None:
        return f"; `{most.name}` has no limit"
    return (
        f"; `{most.name}` allows {format_duration(most.max_time_s)}"
        if most.max_time_s > limit_s
        else ""
    )


def _store(stores: Sequence[PlaceSeen]) -> SetupValue:
    """The roomiest network file system that is not the home; else the home, which nodes see as well."""
    home, *rest = stores
    network = sorted((one for one in rest if one.is_shared), key=lambda one: -one.room_bytes)
    roomier = [one for one in network if one.room_bytes > home.room_bytes]
    chosen = roomier[0] if roomier else home
    kind = "shared storage" if roomier else "in your home on the cluster"
    if chosen.is_shared:
        kind += f" ({chosen.file_system})"
    others = [one for one in stores if one is not chosen]
    also = "".join(f"; or {one.path}, {_room(one)}" for one in others[:2])
    reason = f"{kind}, {_room(chosen)}{also}"
    return SetupValue(key="store", value=chosen.path, reason=reason)


def _room(place: PlaceSeen) -> str:
    free = f"{format_size(place.free_bytes)} free"
    if place.quota_left_bytes is None:
        return free
    return f"{free}, {format_size(place.quota_left_bytes)} left of your quota"


def _scratch(seen: Surveyed) -> SetupValue:
    """The nodes' own disk. What is a network file system on the login host is one on the nodes as well."""
    later = "checked on your first node"
    if seen.in_job:
        best = seen.in_job[0]
        kind = f"the node's own disk ({best.file_system}), {format_size(best.free_bytes)} free"
        reason = f"{kind}, as job {seen.job_id} sees it{_goes(best.path)}"
        return SetupValue(key="scratch", value=best.path, reason=reason)
    if seen.tmpdir_prolog:
        reason = f"`{seen.tmpdir_prolog}` makes it known in every job{_goes(_JOBS_OWN)}; {later}"
        return SetupValue(key="scratch", value=_JOBS_OWN, reason=reason)
    if _is_plain_path(seen.node_tmp) and seen.node_tmp != _SLURMS_DEFAULT_TMP:
        path = f"{seen.node_tmp.rstrip('/')}/$USER"
        return SetupValue(key="scratch", value=path, reason=f"the nodes' disk, Slurm says; {later}")
    own = [one for one in seen.scratches if not one.is_shared]
    if own:
        return SetupValue(key="scratch", value=own[0].path, reason=f"the nodes' own disk; {later}")
    if seen.scratches:
        network = seen.scratches[0]
        reason = f"`{network.path}` is shared ({network.file_system}), too slow; {later}"
        return SetupValue(key="scratch", value="/tmp/$USER", reason=reason)  # noqa: S108 - proposed, not used here
    return SetupValue(key="scratch", value="/scratch/$USER", reason=f"the usual place; {later}")


def _goes(path: str) -> str:
    return "; removed when the job ends" if path == _JOBS_OWN else ""


def _is_plain_path(text: str) -> bool:
    """Slurm's `TmpFS` may hold patterns, which only Slurm expands."""
    return re.fullmatch(r"/[A-Za-z0-9._/-]+", text) is not None
