"""Submitted jobs: `submit`, `jobs`, `logs`, `cancel`."""

from __future__ import annotations

from scratchflow.model.errors.base import EndedBySignal, ScratchflowError


class JobRefused(ScratchflowError):
    """Slurm did not take the job."""

    code = "job.refused"
    exit_code = 22
    message = "Slurm refused the job: {reason}"
    hint = "change what is asked for with `--time`, `--mem`, `--partition` …; `scratchflow nodes` shows what there is"


class JobImpossible(ScratchflowError):
    """The job asks for more than there is, and would wait for ever; it was not submitted."""

    code = "job.impossible"
    exit_code = 22
    message = "the job could never start: {reason}"
    hint = "{next_step}; `scratchflow nodes` shows what there is"


class JobLacksEnvironment(ScratchflowError):
    """The snapshot that the job would run from has not the environment that the profile names; it was not submitted."""

    code = "job.lacks_environment"
    exit_code = 40
    message = "the job would fail at once, and is not submitted: {reason}"
    hint = "{next_step}"


class JobInDoubt(ScratchflowError):
    """Slurm did not answer `sbatch`, so the job may be in the queue or not."""

    code = "job.in_doubt"
    exit_code = 20
    message = "whether Slurm has job `{job}` is not known: {reason}"
    hint = "in a minute `scratchflow jobs` tells: submit again only when it lists no such job, or says `NOT_SUBMITTED` of it, or there may be two"


class JobsPartlySubmitted(ScratchflowError):
    """A job with more tasks than one array may have is several arrays, and Slurm has only some of them."""

    code = "job.partly_submitted"
    exit_code = 22
    message = "{submitted} of {tasks} tasks are submitted, as {jobs}; then: {reason}"
    hint = "do not submit all of them again: {next_step}"


class JobMissing(ScratchflowError):
    """No record has this number, id or name."""

    code = "job.missing"
    exit_code = 30
    message = "there is no job `{wanted}` in this workspace's store{detail}"
    hint = "`scratchflow jobs` lists them; `-p NAME` looks in another profile"


class TaskMissing(JobMissing):
    """The job is known, and has no task of this number."""

    code = "job.task_missing"
    message = "job {job} has no task {task}: {has}"
    hint = "`scratchflow jobs show {job}` shows them"


class JobNotReady(ScratchflowError):
    """The job cannot be done what was asked with, as it is now."""

    code = "job.not_ready"
    exit_code = 2
    message = "{problem}"
    hint = "{next_step}"


class JobNotStarted(ScratchflowError):
    """The job ran on its node, but not the command: something before it failed."""

    code = "job.not_started"
    exit_code = 24
    message = "the command of job `{job}` was not run: {reason}"
    hint = "`scratchflow jobs show {job}` tells what was asked for; `scratchflow jobs rerun {job}` tries again"


class OutputsDiffer(ScratchflowError):
    """Files in the directory that `jobs outputs --to` names are others than those that the job made."""

    code = "job.target_differs"
    exit_code = 35
    message = "`{target}` has other files where the job made {count}: {paths}; nothing was changed"
    hint = "they were changed since, or are not from this job: name another directory, or move these away first"


class SubmitCutShort(EndedBySignal):
    """A signal ended `submit` when the login host had been asked already: Slurm may have the job."""

    code = "job.signal_ended"
    hint = "`scratchflow jobs` shows whether Slurm has it; submit again only when it does not, or there may be two"
    retryable = False

    def __init__(self, signum: int) -> None:
        """With the same words for Ctrl-C, which shows no hint."""
        super().__init__(signum, "Slurm may have the job: `scratchflow jobs` shows it")


class LogsCutShort(EndedBySignal):
    """A signal ended `logs -f`, and with it nothing but the reading."""

    code = "logs.signal_ended"
    hint = "`scratchflow logs -f JOB` goes on reading; `scratchflow cancel JOB` would end the job"

    def __init__(self, signum: int) -> None:
        """Nobody is to take it for the end of the job."""
        super().__init__(signum, "The job was not cancelled.", cancelled="Stopped reading.")
