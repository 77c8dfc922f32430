"""Whether steps of a job may run beside each other here: `srun --overlap`, which came with Slurm 20.11."""

from __future__ import annotations

from scratchflow.cluster.slurm.client import Slurm

_NOT_KNOWN = "unrecognized option"


def has_overlap(slurm: Slurm) -> bool:
    """What `srun` itself says to the option; asked for its version, it starts nothing."""
    done = slurm.ask(["srun", "--overlap", "--version"])
    if done.returncode != 0 and _NOT_KNOWN not in done.error_text:
        raise slurm.unreachable(done.last_line)
    return done.returncode == 0


def srun_version(slurm: Slurm) -> str:
    """As `srun` calls itself: `slurm 19.05.5`, or with the name of a distribution's package."""
    done = slurm.ask(["srun", "--version"])
    return done.last_line if done.returncode else done.text.strip()
