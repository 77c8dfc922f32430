"""`settle`, on the node: the workspace is there afterwards, by whatever was missing, and nothing else."""

from __future__ import annotations

from scratchflow.flows.create import create
from scratchflow.flows.here import Here
from scratchflow.flows.restore import RestoreWish, restore
from scratchflow.flows.telling import Teller
from scratchflow.flows.wishes import Create, Settle
from scratchflow.model.results import Settled
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import printable
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.nodes import read_nodes
from scratchflow.store.place import Place, find_place
from scratchflow.workspace.notes import read_base, read_restoring


def settle(here: Here, teller: Teller, wish: Settle) -> Settled:
    """Finishes a restore, restores, creates, or leaves the workspace as it is."""
    place = find_place(here.store, here.workspace.name)
    latest = read_catalogue(place).latest
    path = printable(here.workspace.path)
    if latest is None:
        created = create(here, teller, Create(dry_run=wish.dry_run), {})
        return Settled(action="created", path=path, snapshot=created.snapshot)
    if _is_settled(here, place, latest, wish):
        base = read_base(here.workspace, here.store)
        return Settled(action="nothing", path=path, snapshot=base)
    wanted = RestoreWish(snapshot=wish.snapshot or latest.id, dry_run=wish.dry_run)
    restored = restore(here, teller, wanted)
    return Settled(action="restored", path=path, snapshot=restored.snapshot, restored=restored)


def _is_settled(here: Here, place: Place, latest: Manifest, wish: Settle) -> bool:
    """Whether what is there is what the user works on.

    A copy from an earlier job may be behind: work went on elsewhere. What this very job restored or
    saved is the present, whatever the store got meanwhile.
    """
    base = read_base(here.workspace, here.store)
    if base is None or not here.workspace.path.is_dir() or read_restoring(here.workspace):
        return False
    if wish.snapshot is not None:
        return base == wish.snapshot
    if base == latest.id or here.job_id is None:
        return True
    records = [record for record in read_nodes(place) if record.node == here.node]
    return any(record.job_id == here.job_id for record in records)
