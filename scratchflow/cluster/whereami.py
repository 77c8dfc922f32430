"""Which of the three places this process runs in: laptop, login host or compute node."""

from __future__ import annotations

import os
from collections.abc import Mapping

from scratchflow.model.events import Role


def role(environment: Mapping[str, str]) -> Role:
    """Slurm names the node to every process of a job; a host that can allocate is a login host.

    A plain ssh session on a node has no such variable and looks like a login host here; what
    matters there asks Slurm itself.
    """
    if environment.get("SLURMD_NODENAME"):
        return "node"
    return "login" if _on_path("salloc", environment.get("PATH", "")) else "laptop"


def _on_path(program: str, path: str) -> bool:
    return any(
        os.access(os.path.join(directory, program), os.X_OK)
        for directory in path.split(os.pathsep)
        if os.path.isabs(directory)
    )
