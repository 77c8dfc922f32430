"""`settle`, on the node: the workspace is there afterwards, by whatever was missing, and nothing else."""

from __future__ import annotations

from scratchflow.model.errors import WorkDiverged
from scratchflow.model.requests import Create, Settle
from scratchflow.model.results import Settled
from scratchflow.model.text import printable
from scratchflow.node.backup import foretell_backup
from scratchflow.node.base_note import note_taken_up
from scratchflow.node.context import Here
from scratchflow.node.create import create
from scratchflow.node.progress import Teller
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreWish
from scratchflow.node.snapshot import Wish
from scratchflow.store.catalogue import LATEST, Catalogue, newer_elsewhere, read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.directory import Place, find_place
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.notes import read_base, read_restoring


def settle(here: Here, teller: Teller, wish: Settle) -> Settled:
    """Finishes a restore, restores, creates, or leaves the workspace as it is."""
    place = find_place(here.store, here.workspace.name)
    if not wish.dry_run:
        forget_old_listing(place)  # another node may have saved its work a second ago
    catalogue = read_catalogue(place)
    path = printable(here.workspace.path)
    if catalogue.newest_id is None:
        created = create(here, teller, Create(dry_run=wish.dry_run), {})
        return Settled(action="created", path=path, snapshot=created.snapshot)
    base = present_base(here, place)
    if base is not None and _is_enough(here, catalogue, base, wish, teller):
        if not wish.dry_run and base == catalogue.newest_id:
            note_taken_up(here, place, teller)
        newer = newer_elsewhere(catalogue, base)
        return Settled(action="nothing", path=path, snapshot=base, newer=newer)
    wanted = RestoreWish(snapshot=wish.snapshot or catalogue.find(LATEST).id, dry_run=wish.dry_run)
    restored = restore(here, teller, wanted)
    # Going back over other work is a snapshot of its own; that is what is there now.
    snapshot = restored.committed_as or restored.snapshot
    return Settled(action="restored", path=path, snapshot=snapshot, restored=restored)


def present_base(here: Here, place: Place) -> str | None:
    """The snapshot that the present work came from; None when what is there is not the present.

    What this very job restored, or stored something of, is the present, whatever the store got meanwhile.
    A copy from an earlier job may be behind, because work went on elsewhere: it is the present only
    while no snapshot is newer. A command that only looked at it changes nothing about that.
    """
    base = read_base(here.workspace, here.store)
    if base is None or not here.workspace.path.is_dir() or read_restoring(here.workspace):
        return None
    if here.job_id is None or base == read_catalogue(place).newest_id:
        return base
    records = [record for record in read_nodes(place) if record.node == here.node]
    return base if any(record.job_id == here.job_id for record in records) else None


def _is_enough(here: Here, catalogue: Catalogue, base: str, wish: Settle, teller: Teller) -> bool:
    """Whether the present has all that is wanted; WorkDiverged when it has something else instead."""
    wanted = wish.snapshot
    if wanted is None or wanted in _line_of(catalogue, base):
        return True
    if base not in _line_of(catalogue, wanted) or _is_changed(here, teller):
        raise WorkDiverged(node=here.node, snapshot=base, other=wanted)
    return False


def _line_of(catalogue: Catalogue, snapshot: str) -> set[str]:
    """The snapshot and all that it came from."""
    parents = {one.id: one.parent for one in catalogue.snapshots}
    line: set[str] = set()
    at: str | None = snapshot
    while at is not None and at not in line:
        line.add(at)
        at = parents.get(at)
    return line


def _is_changed(here: Here, teller: Teller) -> bool:
    return foretell_backup(here, teller, Wish(allow_shrink=True)).kind != "unchanged"
