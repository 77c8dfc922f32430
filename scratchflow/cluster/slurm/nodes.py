"""Partitions and nodes: what there is, what is free, and which node a bare number means."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.node_text import (
    SINFO_FORMAT,
    listed_nodes,
    shown_nodes,
    shown_partitions,
    shown_settings,
)
from scratchflow.model.allocation import Node, Partition
from scratchflow.model.errors.allocation import NodeUnknown
from scratchflow.model.text import closest

_MOST_CANDIDATES = 8


def nodes(slurm: Slurm) -> list[Node]:
    """Every node that the user may see, in Slurm's order.

    `scontrol` tells which GPUs are in use; where it is barred, `sinfo` gives the rest.
    """
    done = slurm.ask(["scontrol", "--details", "--oneliner", "show", "node"])
    found = shown_nodes(done.text) if done.returncode == 0 else []
    if found:
        return found
    done = slurm.ask(["sinfo", "--noheader", "--Node", SINFO_FORMAT])
    if done.returncode != 0:
        raise slurm.unreachable(done.last_line)
    return listed_nodes(done.text)


def partitions(slurm: Slurm) -> list[Partition]:
    """Every partition that the user may see."""
    done = slurm.ask(["scontrol", "--oneliner", "show", "partition"])
    if done.returncode != 0:
        raise slurm.unreachable(done.last_line)
    return shown_partitions(done.text)


def slurm_settings(slurm: Slurm) -> dict[str, str]:
    """Slurm's own configuration, by key."""
    done = slurm.ask(["scontrol", "show", "config"])
    if done.returncode != 0:
        raise slurm.unreachable(done.last_line)
    return shown_settings(done.text)


def find_node(slurm: Slurm, wanted: str) -> str:
    """The whole name of the node that is meant, see `complete_node`; also of a cloud node that is off.

    Up to Slurm 22.05 only the partitions name those.
    """
    names = [node.name for node in nodes(slurm)]
    if wanted not in names:
        names += [name for partition in partitions(slurm) for name in partition.nodes]
    return complete_node(wanted, names)


def complete_node(wanted: str, names: Iterable[str]) -> str:
    """The node that `2` means: the one whose name ends in that number, as `node-2` does.

    A full name is itself. Leading zeros count only when they decide: `7` finds `cn007`.
    NodeUnknown when no node or several fit.
    """
    known = list(dict.fromkeys(names))
    if wanted in known:
        return wanted
    if not (wanted.isascii() and wanted.isdigit()):
        guess = closest(wanted, known)
        raise _unclear(f"there is no node `{wanted}`", [guess] if guess else [])
    numbered = [name for name in known if _number(name) and int(_number(name)) == int(wanted)]
    exact = [name for name in numbered if _number(name) == wanted]
    candidates = exact if len(exact) == 1 else numbered
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise _unclear(f"no node's name ends in the number {wanted}", [])
    raise _unclear(f"`{wanted}` could be several nodes", candidates)


def _number(name: str) -> str:
    match = re.search(r"\d+\Z", name, re.ASCII)
    return match[0] if match else ""


def _unclear(problem: str, candidates: list[str]) -> NodeUnknown:
    shown = ", ".join(f"`{name}`" for name in candidates[:_MOST_CANDIDATES])
    more = " and more" if len(candidates) > _MOST_CANDIDATES else ""
    which = f"; did you mean {shown}{more}?" if shown else ""
    return NodeUnknown(problem=f"{problem}{which}")
