"""`locate`, on the node: where the job has its scratch, by the job's own environment."""

from __future__ import annotations

from scratchflow.model.requests import Nothing
from scratchflow.model.results.run import ScratchLocated
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier


def locate(context: NodeContext, _: Notifier, __: Nothing) -> ScratchLocated:
    """Nothing is made or changed; a name that is not set was refused before."""
    return ScratchLocated(path=str(context.workspace.scratch))
