"""The environment variables of Slurm: which ones steer its commands, and which ones a job leaves behind.

Every name of such a variable that decides what we start is here.
"""

from __future__ import annotations

from collections.abc import Mapping

# The way to Slurm: its configuration, its address, who we are to it, and which cluster the user chose.
_KEPT = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT"})
# Filters and formats that a user may have set for his own eyes would change what we read; options of
# another job or step (SLURM_CPU_BIND, SLURM_EXPORT_ENV, SRUN_CPUS_PER_TASK) would become ours, and the
# ranks of one make our program a part of it.
_NEVER = (
    "SQUEUE_",
    "SINFO_",
    "SCONTROL_",
    "SACCT_",
    "SLURM_",
    "SLURMD_",
    "SRUN_",
    "PMI",
    "SALLOC_NO_SHELL",
    "SALLOC_IMMED",
)
# On a login host these are the user's own defaults, such as SALLOC_ACCOUNT; inside a job they are that job's.
_NOT_FROM_A_JOB = ("SALLOC_", "SBATCH_")

# Defaults for `sbatch` that would make another job than its record says: one that `submit` waits for, with tasks, files,
# an environment or a signal of its own, or on a cluster where nobody looks for it.
_NOT_FOR_OURS = frozenset(
    {
        "SBATCH_ARRAY_INX",
        "SBATCH_CLUSTERS",
        "SBATCH_CONTAINER",
        "SBATCH_CONTAINER_ID",
        "SBATCH_ERROR",
        "SBATCH_EXPORT",
        "SBATCH_GET_USER_ENV",
        "SBATCH_INPUT",
        "SBATCH_JOB_NAME",
        "SBATCH_NO_REQUEUE",
        "SBATCH_OPEN_MODE",
        "SBATCH_OUTPUT",
        "SBATCH_REQUEUE",
        "SBATCH_SIGNAL",
        "SBATCH_WAIT",
    }
)


def is_in_job(environment: Mapping[str, str]) -> bool:
    """Whether Slurm started this process, or one that it came from."""
    return bool(environment.get("SLURM_JOB_ID") or environment.get("SLURMD_NODENAME"))


def without_outer_job(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for `salloc`, `srun`, `sbatch` and the commands that ask Slurm something."""
    dropped = (*_NEVER, *_NOT_FROM_A_JOB) if is_in_job(environment) else _NEVER
    return {
        name: value
        for name, value in environment.items()
        if name in _KEPT or not name.startswith(dropped)
    }


def for_sbatch(environment: Mapping[str, str]) -> dict[str, str]:
    """The same for the `sbatch` of `submit`: what the user asks of Slurm by default stays, such as SBATCH_ACCOUNT."""
    kept = without_outer_job(environment)
    return {name: value for name, value in kept.items() if name not in _NOT_FOR_OURS}
