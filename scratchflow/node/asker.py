"""Who names a snapshot in a request, for `store/names.py`."""

from __future__ import annotations

from scratchflow.model.requests import Offsets
from scratchflow.model.zone import Zone
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.store.names import Asker


def asker(context: NodeContext, notify: Notifier, zone: Offsets) -> Asker:
    """By this machine's clock, which the times of the snapshots are by, and in the asker's zone."""
    said: set[str] = set()

    def tell(found: str) -> None:
        if found not in said:  # a command may look twice, before and after it has the lock
            said.add(found)
            notify.remark(found)

    return Asker(context.now().timestamp(), Zone(zone), tell)
