"""Slurm's and tmux's commands on this host: one function that runs each, within a time limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from scratchflow.cluster.job_variables import without_outer_job
from scratchflow.process.child import ChildTimedOut, Completed, run_child


class CommandMissing(Exception):
    """There is no such program on this host."""


class CommandUnanswered(Exception):
    """The command gave no answer, for a reason that may pass; the text says which."""


class Run(Protocol):
    """Runs a command on the login host; raises CommandMissing or CommandUnanswered."""

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Completed: ...


def command_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for Slurm's commands: English, and times as seconds since 1970.

    The seconds make an end time right in every time zone and across a change of the clocks.
    """
    return {**without_outer_job(environment), "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"}


def local_run(environment: Mapping[str, str]) -> Run:
    """Runs commands on this machine with exactly this environment."""

    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        return _run_here(argv, timeout_s, environment)

    return run


def _run_here(argv: Sequence[str], timeout_s: float, environment: Mapping[str, str]) -> Completed:
    try:
        return run_child(argv, timeout_s=timeout_s, environment=environment)
    except ChildTimedOut:
        unanswered = f"`{argv[0]}` gave no answer within {timeout_s:g} s"
        raise CommandUnanswered(unanswered) from None
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise CommandMissing(argv[0]) from error
    except OSError as error:  # no more processes or memory, just now
        raise CommandUnanswered(f"`{argv[0]}` cannot be started: {error.strerror}") from error
