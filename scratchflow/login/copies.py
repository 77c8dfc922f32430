"""The copies of the workspace on the further nodes of an allocation: looked at all at once, within a time limit."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.results.backup import CopyShown, CopyState
from scratchflow.reach.node_question import NodeQuestion, wait_for
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.workspace import expand

LOOK_S = 8.0
"""How long all of them may take; a copy that is not through by then was not looked at."""


def look_at_copies(
    settings: Settings,
    held: RunningAllocation,
    environment: Mapping[str, str],
    *,
    within_s: float = LOOK_S,
) -> list[CopyShown]:
    """The copy of every node but the first, compared with the snapshot that it came from."""
    asked = [NodeQuestion("copy", settings, held.on(node), environment) for node in held.nodes[1:]]
    wait_for(asked, within_s)
    place = find_place(expand(settings.profile.store, environment), settings.profile.workspace)
    records = {record.node: record.snapshot for record in read_nodes(place)}
    catalogue, first = read_catalogue(place), records.get(held.node)
    return [_shown(one, first, catalogue) for one in asked]


def _shown(asked: NodeQuestion, first: str | None, catalogue: Catalogue) -> CopyShown:
    if asked.answer is None:
        return CopyShown(node=asked.node, reason=asked.reason)
    seen = msgspec.convert(asked.answer, CopyState)
    is_behind = seen.exists and _origin(catalogue, seen.base) != _origin(catalogue, first)
    return CopyShown(
        node=asked.node,
        exists=seen.exists,
        base=seen.base,
        changed=seen.changed,
        other_snapshot=is_behind,
        fork=any(one.beside for one in catalogue.snapshots if one.id == seen.base),
        unsaved=seen.unsaved,
        unsaved_paths=seen.unsaved_paths,
    )


def _origin(catalogue: Catalogue, snapshot: str | None) -> str | None:
    """The snapshot whose content this one has: what a restore committed again holds the same."""
    known = {one.id: one for one in catalogue.snapshots}
    at = snapshot
    while at in known and known[at].purpose == "restored" and known[at].parent:
        at = known[at].parent
    return at
