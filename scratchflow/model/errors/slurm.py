"""The programs of the login host: Slurm and tmux."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError


class SlurmUnreachable(ScratchflowError):
    """Slurm's controller does not answer."""

    code = "slurm.unreachable"
    exit_code = 20
    message = "Slurm on `{host}` does not answer: {reason}"
    hint = "nothing was changed; try again in a minute, `scontrol ping` on `{host}` shows its state"
    retryable = True


class SlurmMissing(SlurmUnreachable):
    """The host does not have Slurm's commands, or not where they are looked for."""

    code = "slurm.missing"
    exit_code = 20
    message = "`{host}` has no Slurm: {reason}"
    hint = (
        "is it the login host of a Slurm cluster? Where Slurm comes with a module, load that in your "
        "`~/.bash_profile` on `{host}`, then try again"
    )
    retryable = False


class TmuxFailed(ScratchflowError):
    """tmux on the login host is missing or refused."""

    code = "tmux.failed"
    exit_code = 26
    message = "tmux on `{host}`: {reason}"
    hint = 'install tmux there; on a cluster `hold = "detached"` and `ssh` to the alias do without'


class TmuxInJob(TmuxFailed):
    """Our tmux session is opened on the login host, never on a node."""

    code = "tmux.in_job"
    exit_code = 26
    message = "`{host}` is a compute node, and our tmux session is opened on the login host"
    hint = "type this on your laptop or on the login host; in this shell, `COMMAND &` runs on until the job ends"
