"""What a backup does about a workspace that lost most of its files: asks a person, or keeps the parent."""

from __future__ import annotations

import time
from collections.abc import Sequence

from scratchflow.archive.index import Index
from scratchflow.archive.planning import Plan
from scratchflow.archive.root_sizes import root_sizes
from scratchflow.flows.telling import Teller
from scratchflow.model.snapshot import Manifest, Purpose
from scratchflow.model.times import iso_time
from scratchflow.store.marks import Mark, keep
from scratchflow.store.place import Place
from scratchflow.store.shrink import Shrink, find_shrink

# Nobody can answer there. Refusing would leave every later change unsaved; another snapshot loses nothing.
UNATTENDED: frozenset[Purpose] = frozenset({"auto", "final"})


def shrink_since(
    parent: Manifest, index: Index, planned: Plan, roots: Sequence[str]
) -> Shrink | None:
    """How the workspace shrank since its parent. Only roots that both save are compared."""
    common = [root for root in (parent.workspace, *parent.also) if root in roots]
    now = root_sizes(planned.scanned, common, planned.dropped)
    return find_shrink(root_sizes(index, common), now)


def keep_parent(place: Place, parent: Manifest, shrink: Shrink, teller: Teller) -> None:
    """Keeps the parent from retention until a person agrees. Called before the smaller one is committed."""
    keep(place, Mark(snapshot=parent.id, why="shrink", time=iso_time(time.time()) or ""))
    message = (
        f"{shrink.in_words()}; it is saved all the same, and snapshot {parent.id} is kept:"
        f" `scratchflow restore {parent.id}` brings it back"
    )
    teller.warn("backup.shrunk", b"", message)
