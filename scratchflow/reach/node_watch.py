"""Notices a node that will not answer any more, although `srun` or ssh still waits for it.

After a node crash `srun` may wait for ever, especially when the node is back before Slurm noticed;
ssh waits until its connection times out.
"""

from __future__ import annotations

from collections.abc import Callable

from scratchflow.model.allocation import HELD, Allocation
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.reach.node import NodeTransport
from scratchflow.reach.watch import PROBE_S, SILENT_S, UNSURE, WELL, Seen, Watch


class NodeWatch(Watch):
    """The transport to the node.

    `ask` says how the job is, or raises SlurmUnreachable.
    """

    _name = "node-watch"

    def __init__(
        self,
        node: NodeTransport,
        ask: Callable[[], Allocation],
        *,
        silent_s: float = SILENT_S,
        probe_s: float = PROBE_S,
    ) -> None:
        super().__init__(node, silent_s=silent_s, probe_s=probe_s)
        self._ask = ask

    def _look(self) -> Seen:
        try:
            state = self._ask().state
        except SlurmUnreachable:
            return WELL  # Slurm may be gone for hours: what runs on the node does not need it
        if state not in HELD:
            return Seen("lost", "its job has ended")
        if state == "suspended":
            return WELL  # nothing there moves until it goes on
        if self._agent is None:
            return UNSURE
        try:
            done = self._inner.run(self._looks.argv(self._agent), timeout_s=self._probe_s)
        except ScratchflowError:
            return UNSURE
        return self._looks.read(done)
