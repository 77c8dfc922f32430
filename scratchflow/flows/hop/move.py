"""A hop under way: what is left, and what was brought so far."""

from __future__ import annotations

import msgspec

from scratchflow.dispatch.cluster import Cluster
from scratchflow.model.events import Progress
from scratchflow.model.results.status import ElsewhereShown


class Move(msgspec.Struct, frozen=True):
    """Which job is left, of which nodes, and what was found and brought."""

    old_job: int
    old_node: str
    cluster: Cluster
    leave_behind: bool = False
    other_nodes: tuple[str, ...] = ()
    # What other profiles hold.
    elsewhere: tuple[ElsewhereShown, ...] = ()
    # The job that commands go to since an earlier run, which was cut short after that.
    went_on_to: int | None = None
    # What only one of them had, by node; filled as it is saved.
    forks: dict[str, str] = msgspec.field(default_factory=dict)
    # The snapshots of the profile's other workspaces that the new node has, by name; filled as they are brought.
    brought: dict[str, str] = msgspec.field(default_factory=dict)

    def say(self, phase: str) -> None:
        self.cluster.emit(Progress(phase=phase))
