"""How Slurm is asked: every question is bounded, and no answer is never mistaken for one."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping, Sequence

import msgspec

from scratchflow.cluster.command import (
    CommandMissing,
    CommandUnanswered,
    Run,
    command_environment,
    local_run,
)
from scratchflow.model.errors.slurm import SlurmMissing, SlurmUnreachable
from scratchflow.process.child import Completed

ASK_TIMEOUT_S = 20.0
"""Above the 18 s that `squeue` was seen to take before it gave up on a missing slurmctld."""

# What the library says when the controller, munge or the configuration is out of reach. In
# `salloc` they stand beside refusals that have the same exit code, hence the words.
_OUT_OF_REACH = (
    "unable to contact slurm controller",
    "unable to establish control machine address",
    "unable to establish controller machine",
    "socket timed out on send/recv",
    "zero bytes were transmitted or received",
    "communication connection failure",
    "communication shutdown failure",
    "message receive failure",
    "message send failure",
    "unexpected message received",
    "controller is in standby mode",
    "backup controller in standby",
    "could not establish a configuration source",
    "protocol authentication error",
    "invalid authentication credential",
    "munge encode failed",
    "unable to connect to munge",
    "slurm temporarily unable to accept job",
    "resource temporarily unavailable",
)


class Slurm(msgspec.Struct, frozen=True):
    """Slurm as one user sees it from one login host. `host` is only for messages."""

    run: Run
    user: str
    host: str

    def ask(self, argv: Sequence[str], timeout_s: float = ASK_TIMEOUT_S) -> Completed:
        """Runs one of Slurm's commands; SlurmUnreachable when it cannot run or is not answered.

        Any other failure is the caller's to read: an exit code above 0 may be an answer.
        """
        try:
            done = self.run(argv, timeout_s)
        except CommandUnanswered as error:
            raise self.unreachable(str(error)) from error
        except CommandMissing as error:
            reason = f"there is no `{argv[0]}` on its PATH"
            raise SlurmMissing(host=self.host, reason=reason) from error
        if done.returncode != 0 and out_of_reach(done.error_text):
            raise self.unreachable(done.last_line)
        return done

    def unreachable(self, reason: str) -> SlurmUnreachable:
        """The error that says so, with this host."""
        return SlurmUnreachable(host=self.host, reason=reason)


def this_slurm(environment: Mapping[str, str]) -> Slurm:
    """Slurm as this user sees it from this host."""
    return Slurm(
        run=local_run(command_environment(environment)),
        user=pwd.getpwuid(os.getuid()).pw_name,
        host=os.uname().nodename,
    )


def out_of_reach(said: str) -> bool:
    """Whether these words mean that nobody answered, rather than that the answer was no."""
    lower = said.lower()
    return any(words in lower for words in _OUT_OF_REACH)
