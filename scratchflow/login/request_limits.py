"""What of a request is more than a partition allows or its nodes have, for the words of a refusal.

Slurm decides, and only afterwards is it explained: a QOS may allow more than the partition says.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from scratchflow.model.ages import time_left
from scratchflow.model.allocation import Node, Partition
from scratchflow.model.profile import SlurmOptions
from scratchflow.model.time_limit import time_limit_s
from scratchflow.model.units import Duration, format_size, parse_size

NODE = "node"
"""The key of an excess that is about the node which was asked for: no key of the profile."""
_ONE_FEATURE = re.compile(r"[\w.-]+", re.ASCII)


class Excess(msgspec.Struct, frozen=True):
    """A key of the request that cannot be met, and why, as the end of a sentence about it."""

    key: str
    why: str
    fits: str = ""
    """The flag that asks for the most that is allowed, where that is known."""


class Cluster(msgspec.Struct, frozen=True):
    """What Slurm says there is."""

    partitions: Sequence[Partition]
    nodes: Sequence[Node]


def excesses(options: SlurmOptions, node: str, cluster: Cluster) -> list[Excess]:
    """What is too much in every partition that was asked for; `node` is the one it must be, if any."""
    found = []
    for name in _wanted(options, cluster):
        found.append(list(_in_partition(options, node, name, cluster)))
        if not found[-1]:
            return []
    return found[0] if found else []


def _wanted(options: SlurmOptions, cluster: Cluster) -> list[str]:
    """The partitions of the request; Slurm's default when it names none."""
    known = [one.name for one in cluster.partitions]
    default = [one.name for one in cluster.partitions if one.default]
    names = options.partition.split(",") if options.partition else default
    return [name for name in names if name in known]


def _in_partition(
    options: SlurmOptions, node: str, name: str, cluster: Cluster
) -> Iterator[Excess]:
    partition = next(one for one in cluster.partitions if one.name == name)
    time_s = time_limit_s(options.time) if options.time else None
    if time_s and partition.max_time_s is not None and time_s > partition.max_time_s:
        limit = time_left(partition.max_time_s)
        why = f"is more than the {limit} that partition `{name}` allows"
        yield Excess("slurm.time", why, fits=f"--time {Duration(partition.max_time_s)}")
    yield from _outside(node, name, cluster)
    nodes = [one for one in cluster.nodes if name in one.partitions and node in {"", one.name}]
    if options.nodes > len(nodes) > 0 and not node:
        there = _counted(len(nodes), "node")
        yield Excess("slurm.nodes", f"is more than the {there} of partition `{name}`")
    if nodes:
        whose = f"`{node}` has" if node else f"a node of partition `{name}` has"
        yield from _on_nodes(options, nodes, whose)


def _outside(node: str, partition: str, cluster: Cluster) -> Iterator[Excess]:
    """A node that was named, and that this partition does not have."""
    found = next((one for one in cluster.nodes if one.name == node), None)
    if found is not None and partition not in found.partitions:
        theirs = ", ".join(f"`{name}`" for name in found.partitions) or "none"
        why = f"is not in partition `{partition}`: `{node}` is in {theirs}"
        yield Excess(NODE, why)


def _on_nodes(options: SlurmOptions, nodes: Sequence[Node], whose: str) -> Iterator[Excess]:
    gpus = -(-options.gpus // options.nodes)
    memory = _memory_bytes(options.mem)
    yield from _too_many_cpus(options, max(one.cpus for one in nodes), whose)
    if gpus > (most_gpus := max(one.gpus for one in nodes)):
        there = _counted(most_gpus, "GPU") if most_gpus else "0 GPUs"
        yield Excess("slurm.gpus", f"is more than the {there} that {whose}")
    if memory > (most_bytes := max(one.memory_bytes for one in nodes)):
        yield Excess("slurm.mem", f"is more than the {format_size(most_bytes)} that {whose}")
    feature = options.constraint
    if _ONE_FEATURE.fullmatch(feature) and not any(feature in one.features for one in nodes):
        yield Excess("slurm.constraint", f"is nothing that {whose}")


def _too_many_cpus(options: SlurmOptions, most: int, whose: str) -> Iterator[Excess]:
    """One task that needs too many, or too many tasks with what each needs."""
    tasks_each = -(-options.ntasks // options.nodes)
    cpus = options.cpus_per_task or 1
    more = f"is more than the {_counted(most, 'CPU')} that {whose}"
    if cpus > most:
        yield Excess("slurm.cpus_per_task", more)
    elif cpus * tasks_each > most:
        with_cpus = f"with {_counted(cpus, 'CPU')} each " if cpus > 1 else ""
        yield Excess("slurm.ntasks", f"{with_cpus}{more}")


def _memory_bytes(text: str) -> int:
    """Slurm reads a bare number as megabytes."""
    return parse_size(f"{text}M" if text.strip().isdigit() else text) if text else 0


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def in_words(
    found: Sequence[Excess], typed: Mapping[str, str], value_of: Callable[[str], object]
) -> str:
    """`--time 5h` is more than …; a value of the profile is named by its key."""
    return "; ".join(
        f"`{typed.get(one.key) or f'{one.key} = {value_of(one.key)}'}` {one.why}" for one in found
    )


def next_step(found: Sequence[Excess], typed: Mapping[str, str], profile: str) -> str:
    """Where to change these keys: on the command line, in the profile, or in both."""
    there = f"the request under `[profiles.{profile}.slurm]`"
    if not found:  # nobody knows which
        return "change " + " or ".join([*(f"`{flag}`" for flag in typed.values()), there])
    if len(found) == 1 and found[0].fits:
        flag, fits = typed.get(found[0].key), f"`{found[0].fits}`"
        return f"change `{flag}` to {fits}" if flag else f"ask with {fits}, or change {there}"
    places = [f"`{typed[one.key]}`" if one.key in typed else there for one in found]
    return "change " + " and ".join(dict.fromkeys(places))


def no_other_node(options: SlurmOptions, left: Sequence[str], cluster: Cluster) -> str:
    """Why a request that leaves these nodes out is for nodes that are not there; empty when it is not."""
    wanted = _wanted(options, cluster)
    others = _nodes_of(wanted, _without(left, cluster))
    if not left or not wanted or len(others) >= options.nodes:
        return ""
    names = f"partition{'s' * (len(wanted) > 1)} {_listed(wanted)}"
    have = "have" if len(wanted) > 1 else "has"
    if not others:
        return f"{names} {have} no other node than {_listed(left)}"
    there = _counted(len(others), "node")
    return f"{names} {have} {there} besides {_listed(left)}, not {options.nodes}"


def elsewhere(
    options: SlurmOptions, left: Sequence[str], typed: Mapping[str, str], cluster: Cluster
) -> str:
    """The `hop` to a partition that has other nodes, as it is typed; the best one is one that allows the same time."""
    there = _without(left, cluster)
    kept = {key: flag for key, flag in typed.items() if key not in {NODE, "slurm.partition"}}
    lines = []
    for partition in cluster.partitions:
        asked = msgspec.structs.replace(options, partition=partition.name)
        found = excesses(asked, "", there)
        is_enough = len(_nodes_of([partition.name], there)) >= options.nodes
        if partition.up and is_enough and all(one.fits for one in found):
            flags = {**kept, **{one.key: one.fits for one in found}}
            words = ["--partition", partition.name]
            for flag in flags.values():
                words += flag.split(" ", 1)
            lines.append((len(found), f"`scratchflow hop {shlex.join(words)}`", partition.name))
    if not lines:
        return f"keep {_listed(left)}: no other partition has a node for this request"
    _, line, name = min(lines, key=lambda one: one[0])
    return f"{line} asks for a node of partition `{name}`"


def _without(left: Sequence[str], cluster: Cluster) -> Cluster:
    return Cluster(cluster.partitions, [one for one in cluster.nodes if one.name not in left])


def _nodes_of(partitions: Sequence[str], cluster: Cluster) -> list[Node]:
    return [one for one in cluster.nodes if not set(partitions).isdisjoint(one.partitions)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
