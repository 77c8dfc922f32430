"""What a job asks of Slurm for itself, or for its own task of an array: to be queued again, and to signal its steps."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock, looks

_WITHIN_S, _BETWEEN_S = 20.0, 10.0
# An earlier order was carried out, and its answer lost.
_DONE_ALREADY = "pending"


def own_name(environment: Mapping[str, str]) -> str:
    """What Slurm calls this job or this one task. The bare number of a task may be that of its whole array."""
    array, task = environment.get("SLURM_ARRAY_JOB_ID"), environment.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{task}" if array and task else environment.get("SLURM_JOB_ID", "")


def signal_steps(slurm: Slurm, name: str, signal: str) -> None:
    """Sends `USR1` and the like to every process of its steps, and not to the batch script. Without an answer, nothing."""
    with suppress(SlurmUnreachable):
        slurm.ask(["scancel", f"--signal={signal}", name])


def requeue(slurm: Slurm, name: str, clock: Clock = SYSTEM_CLOCK) -> str:
    """Queues it again, which ends it here soon after; why not, in Slurm's words, or nothing."""
    said = ""
    for _ in looks(_WITHIN_S, _BETWEEN_S, clock):
        try:
            done = slurm.ask(["scontrol", "requeue", name])
        except SlurmUnreachable as error:
            said = str(error)
            continue
        if done.returncode == 0 or _DONE_ALREADY in done.error_text.lower():
            return ""
        return done.last_line
    return said
