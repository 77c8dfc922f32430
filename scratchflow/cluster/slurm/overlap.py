"""Whether steps of a job may run beside each other here: `srun --overlap`, which came with Slurm 20.11."""

from __future__ import annotations

from scratchflow.cluster.slurm.client import Slurm, last_words

_NOT_KNOWN = "unrecognized option"


def has_overlap(slurm: Slurm) -> bool:
    """What `srun` itself says to the option; asked for its version, it starts nothing."""
    done = slurm.ask(["srun", "--overlap", "--version"])
    if done.exit_code != 0 and _NOT_KNOWN not in done.stderr:
        raise slurm.unreachable(last_words(done))
    return done.exit_code == 0


def srun_version(slurm: Slurm) -> str:
    """As `srun` calls itself: `slurm 19.05.5`, or with the name of a distribution's package."""
    done = slurm.ask(["srun", "--version"])
    return last_words(done) if done.exit_code else done.stdout.strip()
