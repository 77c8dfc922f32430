"""`sbatch`, called once for each job. When its answer is lost, the job is looked for by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from scratchflow.cluster.slurm.batch.names import batch_name
from scratchflow.cluster.slurm.batch.queue import number_of
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.request import resource_options
from scratchflow.model.errors.jobs import JobInDoubt, JobRefused
from scratchflow.model.errors.slurm import SlurmMissing, SlurmUnreachable
from scratchflow.model.profile import SlurmOptions
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock, looks

SUBMIT_S = 60.0
"""How long `sbatch` may take: a busy slurmctld answers late."""
LOOK_FOR_S, _BETWEEN_S = 20.0, 10.0
SAVE_BEFORE_END_S = 120
"""How long before its time limit a job is told to save what it has made so far."""

_USUAL_ARRAY = 1001
_NUMBER = re.compile(r"^(\d+)(?:;\S*)?$", re.ASCII | re.MULTILINE)
_PREFIX = re.compile(
    r"^(?:sbatch: (?:error: |fatal: )?)?(?:Batch job submission failed: |allocation failure: )?"
)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """One job as it is submitted: `job` is our id of it, and part of its name."""

    job: str
    name: str
    options: SlurmOptions
    script: str
    # Slurm's patterns: `%a` is the number of the task, `%%` is `%`.
    output: str
    error: str
    # The numbers of its tasks; empty for a job that is no array.
    tasks: tuple[int, ...] = ()
    max_parallel: int = 0
    # How long before the time limit the batch script is told.
    signal_before_end_s: int = SAVE_BEFORE_END_S
    may_requeue: bool = False
    more: tuple[str, ...] = ()

    def argv(self) -> list[str]:
        """The whole command; also what `--dry-run` shows."""
        return ["sbatch", "--parsable", *self._options(), self.script]

    def trial_argv(self, words: Sequence[str]) -> list[str]:
        """What asks Slurm whether it would take the job; in place of a script, the options in its `#SBATCH` lines."""
        # Those of the command line come after them, and win, as they do over a script's lines.
        return ["sbatch", "--test-only", "--wrap=true", *words, *self._options()]

    def _options(self) -> list[str]:
        ours = [
            f"--job-name={batch_name(self.name, self.job)}",
            f"--output={self.output}",
            f"--error={self.error}",
            "--open-mode=append",
            f"--signal=B:USR1@{self.signal_before_end_s}",
            "--export=ALL",
            "--chdir=/",
            *(["--requeue"] if self.may_requeue else []),
        ]
        asked = [*resource_options(self.options), *self.options.extra, *self.more]
        # Ours come last: the last one wins.
        return [*asked, *self._array(), *ours]

    def _array(self) -> list[str]:
        if not self.tasks:
            return []
        limit = f"%{self.max_parallel}" if self.max_parallel else ""
        return [f"--array={number_ranges(self.tasks)}{limit}"]


def submit_batch(slurm: Slurm, batch: Batch, clock: Clock = SYSTEM_CLOCK) -> int:
    """The number of the new job.

    JobRefused when Slurm took none. JobInDoubt when nobody can say: a job may still appear under its name, and
    must not be submitted again before that is known.
    """
    try:
        done = slurm.ask(batch.argv(), timeout_s=SUBMIT_S)
    except SlurmMissing:
        raise
    except SlurmUnreachable as error:
        return _look_for(slurm, batch, error, clock)
    answer = _NUMBER.search(done.text)
    if done.returncode == 0 and answer:
        return int(answer[1])
    lost = slurm.unreachable(done.last_line)
    if done.returncode <= 0:  # killed by a signal, or it said something unknown
        return _look_for(slurm, batch, lost, clock)
    # A connection that broke after the order was given fails with words of the system that nobody can foresee.
    found = _taken_all_the_same(slurm, batch, lost)
    if found is not None:
        return found
    raise JobRefused(reason=refusal(done.error_text) or done.last_line)


def max_array_size(slurm: Slurm) -> int:
    """How many tasks an array may have here; Slurm's own default when it does not say."""
    done = slurm.ask(["scontrol", "show", "config"])
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", done.text, re.MULTILINE)
    return int(match[1]) if match else _USUAL_ARRAY


def refusal(said: str) -> str:
    """Slurm's own reasons on one line."""
    lines = [_PREFIX.sub("", line.strip()) for line in said.splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(line for line in lines if not line.startswith('Try "sbatch')))


def number_ranges(numbers: Sequence[int]) -> str:
    """`0-3,7` for 0, 1, 2, 3 and 7."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def _taken_all_the_same(slurm: Slurm, batch: Batch, lost: SlurmUnreachable) -> int | None:
    """The job that `sbatch` called refused, if Slurm has it; JobInDoubt when that cannot be asked."""
    try:
        return number_of(slurm, batch_name(batch.name, batch.job))
    except SlurmUnreachable as error:
        raise JobInDoubt(job=batch.job, reason=lost.fields["reason"]) from error


def _look_for(slurm: Slurm, batch: Batch, lost: SlurmUnreachable, clock: Clock) -> int:
    name = batch_name(batch.name, batch.job)
    for _ in looks(LOOK_FOR_S, _BETWEEN_S, clock):
        try:
            found = number_of(slurm, name)
        except SlurmUnreachable:
            continue
        if found is not None:
            return found
    raise JobInDoubt(job=batch.job, reason=lost.fields["reason"]) from lost
