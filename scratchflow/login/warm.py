"""Which warm node to request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scratchflow.model.allocation import Node
from scratchflow.model.profile import SlurmOptions
from scratchflow.model.units import parse_size


def best_warm_node(warm: Mapping[str, str], nodes: Sequence[Node], options: SlurmOptions) -> str:
    """The free node with the newest copy, if it has what is asked for; nothing when none has.

    Only a preference: if Slurm refuses, any node is requested.
    """
    fitting = [node.name for node in nodes if node.name in warm and _has_room(node, options)]
    # Ids sort by time; a later one is nearer to what will be restored.
    return max(fitting, key=lambda name: (warm[name], name), default="")


def _has_room(node: Node, options: SlurmOptions) -> bool:
    if not node.available:
        return False
    if options.partition and options.partition not in node.partitions:
        return False
    cpus = options.ntasks * (options.cpus_per_task or 1)
    if options.exclusive and node.cpus_free < node.cpus:
        return False
    return cpus <= node.cpus_free and _has_gpus(node, options) and _has_memory(node, options)


def _has_gpus(node: Node, options: SlurmOptions) -> bool:
    free = node.gpus if node.gpus_free is None else node.gpus_free
    return options.gpus <= free


def _has_memory(node: Node, options: SlurmOptions) -> bool:
    if not options.mem or node.memory_free_bytes is None:
        return True
    # Slurm reads a bare number as megabytes.
    text = f"{options.mem}M" if options.mem.strip().isdigit() else options.mem
    return parse_size(text) <= node.memory_free_bytes
