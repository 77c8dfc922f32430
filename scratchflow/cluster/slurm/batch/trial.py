"""`sbatch --test-only`: whether Slurm would take a job now; none is submitted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scratchflow.cluster.slurm.batch.sbatch import Batch, refusal
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.model.errors.jobs import JobRefused
from scratchflow.model.errors.slurm import SlurmMissing, SlurmUnreachable

# Before the controller's answer; without it, `sbatch` itself did not understand its options.
_ANSWER = re.compile(r"allocation failure: (.*)")
# The other answers may be about this moment alone, as with nodes that are down: `sbatch` lets such a job wait.
_CERTAIN = re.compile(
    r"invalid |user's group not permitted|access/permission denied|unspecified error", re.IGNORECASE
)


def try_batch(slurm: Slurm, batch: Batch, words: Sequence[str]) -> str:
    """Why Slurm may not take the job, or may let it wait; empty when nothing is known against it.

    JobRefused where `sbatch` would surely be refused. `words` are the options in `#SBATCH` lines of the script.
    """
    try:
        done = slurm.ask(batch.trial_argv(words))
    except SlurmMissing:
        raise
    except SlurmUnreachable as error:
        return f"whether Slurm would take this is not known: {error}"
    if done.returncode == 0:
        return ""
    reason = refusal(done.error_text) or done.last_line
    answers = _ANSWER.findall(done.error_text)
    if done.returncode > 0 and (not answers or any(map(_CERTAIN.match, answers))):
        raise JobRefused(reason=reason)
    return f"Slurm may refuse this, or let it wait: {reason}"
