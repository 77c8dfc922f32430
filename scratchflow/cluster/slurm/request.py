"""The request as arguments of `salloc`, from a profile's `[slurm]` table. Nothing here is a shell string."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scratchflow.model.profile import SlurmOptions
from scratchflow.model.units import parse_size

NAME_PREFIX = "scratchflow"

UNBUFFERED = ("--unbuffered",)
"""For a step whose output is no text: Slurm holds the rest of a line back until it ends."""

_OURS = re.compile(r"scratchflow:(?P<profile>[A-Za-z0-9._-]+):(?P<token>[A-Za-z0-9]+)", re.ASCII)
_SLURM_SIZE = re.compile(r"\d+[KMGT]?", re.ASCII | re.IGNORECASE)


def job_name(profile: str, token: str) -> str:
    """The name by which an interrupted run finds its job again; the token tells two runs apart."""
    name = f"{NAME_PREFIX}:{profile}:{token}"
    if not _OURS.fullmatch(name):
        raise ValueError(f"not a job name: {name!r}")
    return name


def profile_of(name: str) -> str | None:
    """The profile a job of ours belongs to; None for anybody else's job."""
    match = _OURS.fullmatch(name)
    return match["profile"] if match else None


def salloc_argv(
    options: SlurmOptions,
    name: str,
    *,
    detached: bool,
    node: str = "",
    command: Sequence[str] = (),
) -> list[str]:
    """`salloc` for these options; `node` overrides `nodelist`.

    Detached, the job has no process of its own and outlives `salloc`. Otherwise it lives as long
    as `command`, and without one as long as the shell that `salloc` starts.
    """
    named = f"--job-name={name}"
    # `extra` is the user's and goes through as it is. The name stands on both sides of it: after
    # it, so that it wins; before it, so that it holds even when `extra` ends the options.
    extra = [*options.extra, named] if options.extra else []
    held = ["--no-shell"] if detached else []
    options_argv = [*resource_options(options, node), *extra]
    return ["salloc", named, *held, *options_argv, *([] if detached else command)]


def resource_options(options: SlurmOptions, node: str = "") -> list[str]:
    """The request as options of `salloc` and `sbatch`, without `extra`."""
    values = {
        "partition": options.partition,
        "account": options.account,
        "time": options.time,
        "nodes": str(options.nodes),
        # Slurm gives a job no more nodes than tasks.
        "ntasks": str(max(options.ntasks, options.nodes)),
        "cpus-per-task": str(options.cpus_per_task or ""),
        "mem": _memory(options.mem),
        "gpus": str(options.gpus or ""),
        "gres": options.gres,
        "qos": options.qos,
        "constraint": options.constraint,
        "nodelist": node or options.nodelist,
        "exclude": options.exclude,
    }
    # One argument each: a value that starts with `-` stays a value.
    given = [f"--{key}={value}" for key, value in values.items() if value]
    return [*given, "--exclusive"] if options.exclusive else given


def _memory(text: str) -> str:
    """Slurm reads `4000` as megabytes and knows neither `1.5T` nor `32GiB`."""
    compact = text.replace(" ", "")
    if not compact or _SLURM_SIZE.fullmatch(compact):
        return compact
    return f"{-(-parse_size(text) // 1024**2)}M"


# `$0` is the shell. A directory that is not there yet leaves it where it is.
_START_THERE = 'cd -- "$1" 2>/dev/null; exec "$0" -l'
# bash has a way to read the environment after the user's startup files; another shell reads it before them.
_START_WITH = (
    'cd -- "$1" 2>/dev/null; [ -r "$2" ] || exec "$0" -l; '
    'case $0 in */bash) exec "$0" --rcfile "$2.bashrc" -i ;; esac; . "$2"; exec "$0" -l'
)


def login_shell_argv(shell: str, directory: str = "", environment: str = "") -> list[str]:
    """A login shell that starts in the directory, if that is there, with the environment of this file."""
    if environment:
        return ["/bin/sh", "-c", _START_WITH, shell, directory or ".", environment]
    return ["/bin/sh", "-c", _START_THERE, shell, directory] if directory else [shell, "-l"]


def shell_on_node_argv(
    job_id: int, node: str, shell: Sequence[str], *, overlap: bool = True, binding: bool = True
) -> list[str]:
    """The command of a shell as a step of the job, beside its other steps; needs a terminal."""
    where = [f"--jobid={job_id}", f"--nodelist={node}"]
    return [*_srun(overlap=overlap, binding=binding), *where, "--pty", *shell]


def until_job_runs(job_id: int, within_s: int) -> str:
    """A line of shell that goes on at once while the job runs, and else waits: its shell was ended with it."""
    asked = f"squeue --noheader --format=%T --jobs={job_id} 2>/dev/null"
    waits = f'[ $n -lt {within_s} ] && [ "$({asked})" != RUNNING ]'
    return f"n=0; while {waits}; do n=$((n+1)); sleep 1; done"


def job_of_command(command: str) -> int | str | None:
    """Which job a command of ours belongs to: its number, or the name under which it was asked for."""
    if number := re.search(r"--jobid=(\d+)", command, re.ASCII):
        return int(number[1])
    name = re.search(rf"--job-name=({_OURS.pattern})", command, re.ASCII)
    return name[1] if name else None


def step_argv(
    job_id: int, node: str, command: Sequence[str], *, options: Sequence[str] = ()
) -> list[str]:
    """A command as a step of the job, beside its other steps, with all the cores of the job there.

    Its input and output are those of `srun`, which passes signals on to it.
    """
    # `/`: the directory we are in may not exist over there, and nothing of ours depends on it.
    where = [f"--jobid={job_id}", f"--nodelist={node}", "--chdir=/"]
    return [*_srun(), *where, *options, *command]


def terminal_step_argv(job_id: int, node: str, *, binding: bool = True) -> list[str]:
    """What stands before a command that gets a terminal on the node; `srun` needs one here."""
    where = [f"--jobid={job_id}", f"--nodelist={node}", "--chdir=/"]
    # Twice quiet: else it remarks on every exit code but 0.
    return [*_srun(binding=binding), *where, "--quiet", "--quiet", "--pty"]


def shell_inside_argv(
    shell: str, *, overlap: bool = True, binding: bool = True, directory: str = ""
) -> list[str]:
    """The same for a command of `salloc` itself, which hands the job over in the environment."""
    srun = _srun(overlap=overlap, binding=binding)
    return [*srun, "--pty", *login_shell_argv(shell, directory)]


def _srun(*, overlap: bool = True, binding: bool = True) -> list[str]:
    # `--overlap`: without it every further step, the auto-backup too, waits until the shell ends.
    # Where `srun` does not know it, the shell is the only step.
    # No `--cpus-per-task`, which means `--exact` since Slurm 22.05: without both, one task has all the
    # CPUs and GPUs that the job has on the node, however many tasks it asked for. `--cpu-bind=none`:
    # sites bind a task to the CPUs of one task. Where nothing is bound, `srun` would remark on the option,
    # in the terminal too, however quiet it is asked to be.
    shared = ["--overlap"] if overlap else []
    unbound = ["--cpu-bind=none"] if binding else []
    return ["srun", *shared, "--nodes=1", "--ntasks=1", *unbound]
