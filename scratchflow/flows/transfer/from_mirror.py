"""`restore --from-mirror`: the snapshot comes back into the store, and is restored from there."""

from __future__ import annotations

import msgspec

from scratchflow.dispatch.cluster import Caller, cluster_of
from scratchflow.flows.transfer.take_home import restore_here
from scratchflow.model.events import Emit, Log
from scratchflow.model.requests import EVERY_NODE, FetchSnapshots, Restore
from scratchflow.model.results.restore import Restored
from scratchflow.model.results.snapshots import SnapshotsFetched
from scratchflow.model.text import printable
from scratchflow.model.units import format_size, format_took


def restore_from_mirror(
    caller: Caller, emit: Emit, request: Restore, here: str | None = None
) -> Restored:
    """Brings the snapshot, then does what `restore` does; `here` is a directory of this machine."""
    with cluster_of(caller.settings(), caller, emit) as cluster:
        asked = FetchSnapshots(snapshots=(request.snapshot,), zone=request.zone)
        found = cluster.at_workspace("snapshots fetch", asked, SnapshotsFetched)
        if found.fetched:
            emit(Log(level="info", message=_brought(found)))
        # The one that is meant may be another one in the store.
        request = msgspec.structs.replace(request, snapshot=found.snapshots[-1])
        if here is None:
            node = "" if request.to is not None else EVERY_NODE
            return cluster.at_workspace("restore", request, Restored, node=node)
    return restore_here(caller, request, here, emit)


def _brought(found: SnapshotsFetched) -> str:
    """What was brought, and whether it was damaged in the store."""
    size, took = format_size(found.fetched_bytes), format_took(found.duration_s)
    names = ", ".join(found.fetched)
    why = (
        " again, because it was damaged in the store"
        if set(found.fetched) & {*found.mended}
        else ""
    )
    return f"brought snapshot {names}{why}, from `{printable(found.mirror)}`: {size} in {took}"
