"""When `srun` starts nothing: seen for some seconds after slurmctld came up, until the nodes have registered."""

from __future__ import annotations

_REFUSED = "Unable to create step for job"


def is_refused(said: str) -> bool:
    """Whether these are the words of an `srun` that Slurm gave no step; then nothing has begun."""
    return _REFUSED in said
