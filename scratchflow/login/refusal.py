"""Why Slurm refused a request, with the option and the limit that it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from scratchflow.cluster.slurm.nodes import nodes, partitions
from scratchflow.login.host import LoginHost
from scratchflow.login.request_limits import (
    Cluster,
    elsewhere,
    excesses,
    in_words,
    next_step,
    no_other_node,
)
from scratchflow.model.errors.allocation import AllocationRefused
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.profile import to_plain
from scratchflow.model.text import closest

# Slurm's own word, at the end of what it means.
_WORD = re.compile(r"\((\w+)\)$", re.ASCII)


def cannot_be_met(login: LoginHost) -> bool:
    """Whether the request is too much for every node, so that it is no use to ask for another one."""
    return bool(excesses(login.profile.slurm, "", known_cluster(login)))


def explained(
    login: LoginHost,
    node: str,
    typed: Mapping[str, str],
    refused: AllocationRefused,
    left: Sequence[str] = (),
) -> AllocationRefused:
    """The same refusal with what was too much, and where that is to be changed; `left` are nodes that `hop` leaves out."""
    options, cluster = login.profile.slurm, known_cluster(login)
    reason = refused.fields["reason"]
    if doubt := _doubt(login, node, typed, left, cluster):
        why, step = doubt
        return AllocationRefused(reason=f"{why} ({_said(reason)})", next_step=step)
    if which := _which_partition(options.partition, [one.name for one in cluster.partitions]):
        reason = f"{reason}; {which}"
    step = next_step([], typed, login.settings.name)
    return AllocationRefused(reason=reason, next_step=step)


def foreseen(
    login: LoginHost, node: str, typed: Mapping[str, str], left: Sequence[str] = ()
) -> str:
    """Why Slurm will probably refuse a request, and what to do then; empty when nothing is known against it.

    Its partitions and nodes are what is known: a QOS may allow more.
    """
    cluster, wanted = known_cluster(login), login.profile.slurm.partition
    doubt = _doubt(login, node, typed, left, cluster)
    if doubt is None and (
        which := _which_partition(wanted, [one.name for one in cluster.partitions])
    ):
        doubt = f"it has no partition `{wanted}`", which
    return f"Slurm will probably refuse this: {doubt[0]}; {doubt[1]}" if doubt else ""


def _doubt(
    login: LoginHost, node: str, typed: Mapping[str, str], left: Sequence[str], cluster: Cluster
) -> tuple[str, str] | None:
    """What of a request cannot be had, and the next step."""
    options = login.profile.slurm
    found = excesses(options, node, cluster)
    if found:
        values = to_plain(options)
        why = in_words(found, typed, lambda key: values.get(key.partition(".")[2], ""))
        return why, next_step(found, typed, login.settings.name)
    only = "" if node else no_other_node(options, left, cluster)
    return (only, elsewhere(options, left, typed, cluster)) if only else None


def _said(reason: str) -> str:
    """Slurm's own word; all of what was said when there is none."""
    said = _WORD.search(reason)
    return said[1] if said else reason


def known_cluster(login: LoginHost) -> Cluster:
    """Its partitions and nodes; none when Slurm does not answer."""
    try:
        return Cluster(partitions(login.slurm), nodes(login.slurm))
    except ScratchflowError:
        return Cluster((), ())


def _which_partition(wanted: str, known: list[str]) -> str:
    """Which one may have been meant, when the one that was asked for does not exist."""
    if not wanted or not known or set(wanted.split(",")) <= set(known):
        return ""
    guess = closest(wanted, known)
    return f"did you mean `{guess}`?" if guess else f"there are {', '.join(known[:12])}"
