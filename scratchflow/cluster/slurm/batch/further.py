"""One step on all further nodes of a job: what starts it, and which nodes those are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scratchflow.cluster.job_variables import without_outer_job
from scratchflow.cluster.slurm.hostlist import expand

# What the step has to know of its job; the rest would be options of `srun`.
_OF_THE_JOB = ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_TMPDIR")


def further_nodes(environment: Mapping[str, str]) -> list[str]:
    """The nodes of this job but the one that this is."""
    own = environment.get("SLURMD_NODENAME", "")
    return [node for node in expand(environment.get("SLURM_JOB_NODELIST", "")) if node != own]


def further_argv(nodes: Sequence[str], command: Sequence[str]) -> list[str]:
    """The command once on each of them, beside the job's other steps; all have the same input."""
    count = len(nodes)
    each = [f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1"]
    return ["srun", "--overlap", *each, f"--nodelist={','.join(nodes)}", "--", *command]


def further_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """For that `srun`, without what the job's own command is to be started with."""
    own = {name: environment[name] for name in _OF_THE_JOB if name in environment}
    return {**without_outer_job(environment), **own}


def is_on_several(environment: Mapping[str, str]) -> bool:
    """Whether this job has more than one node."""
    return int(environment.get("SLURM_JOB_NUM_NODES") or 1) > 1
