"""Whether work went on elsewhere: a workspace and the newest snapshot, by which came from which."""

from __future__ import annotations

from scratchflow.model.snapshot import Manifest
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.retention.lineage import Lineage, line_of, read_noted
from scratchflow.store.retention.vacant import lacks_workspace


def newer_elsewhere(place: StoreDirectory, catalogue: Catalogue, base: str) -> str | None:
    """The newest snapshot, when a workspace that came from `base` does not continue it.

    A snapshot gets a greater id than all that it came from, so only the newest one continues the newest, or one that
    came from it and was removed. What a restore committed again holds the same as the snapshot that it restored.
    """
    known = {one.id: one for one in catalogue.snapshots}
    newest = catalogue.newest_id
    at = newest
    while at != base and at in known and known[at].purpose == "restored":
        at = known[at].parent
    if at == base or (base not in known and newest in [*line_of(base, read_noted(place))]):
        return None
    return newest


def work_of(catalogue: Catalogue, snapshot: str | None) -> str | None:
    """The snapshot itself, or the one whose work it holds, when a restore committed that again."""
    listed = {one.id: one for one in catalogue.snapshots}
    at = snapshot
    while at in listed and listed[at].purpose == "restored":
        now, before = listed[at], listed.get(listed[at].parent or "")
        if before is None or _counts(now) != _counts(before):
            break
        at = before.id
    return at


def is_unused(
    place: StoreDirectory, catalogue: Catalogue, parents: Lineage, snapshot: str | None
) -> bool:
    """Whether it is the first snapshot that `up` takes of a new workspace, with nothing in that, and nothing came after it."""
    first = next((one for one in catalogue.snapshots if one.id == snapshot), None)
    if first is None or first.purpose != "created" or first.parent is not None:
        return False
    return not first.unsaved and first.id not in parents.values() and lacks_workspace(place, first)


def _counts(manifest: Manifest) -> tuple[int, int]:
    """What differs when something else was there beside what was restored, and was committed with it."""
    return manifest.files, manifest.bytes
