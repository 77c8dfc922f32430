"""The ways from the login host onto the node: a step of its job or, where steps cannot overlap, ssh.

A step needs no sshd on the node, no key on the login host and no open port; it has the job's cores,
and ends with the job.
"""

from __future__ import annotations

import shutil
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from scratchflow.cluster.command import command_environment
from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.cluster.slurm.overlap import has_overlap
from scratchflow.cluster.slurm.request import step_argv
from scratchflow.cluster.this_host import as_told_by_slurm
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors import (
    CommandTimedOut,
    NodeSilent,
    ScratchflowError,
    SlurmUnreachable,
)
from scratchflow.process.child import ChildTimedOut, Completed, run_child
from scratchflow.ssh.config.paths import SshPlaces
from scratchflow.ssh.transport.base import shown_command
from scratchflow.ssh.transport.child import ChildStream
from scratchflow.ssh.transport.node import know_node, neighbour_argv
from scratchflow.ssh.transport.openssh import ssh_environment

# What each `srun` said: a process asks once.
_overlaps: dict[str, bool] = {}


def steps_overlap(environment: Mapping[str, str]) -> bool:
    """Whether this host's `srun` can start a step beside others."""
    srun = shutil.which("srun", path=environment.get("PATH")) or ""
    if srun not in _overlaps:
        _overlaps[srun] = has_overlap(this_slurm(environment))
    return _overlaps[srun]


def keys_on_login() -> SshPlaces:
    """Where the login host keeps the keys of nodes: beside the agent, and removed with it."""
    return SshPlaces.of("~/.local/share/scratchflow/ssh/config")


class Way(ABC):
    """The node as a place where commands run."""

    def __init__(self, held: RunningAllocation, environment: Mapping[str, str]) -> None:
        self.held = held
        self.host = held.node
        self.environment = command_environment(environment)

    @abstractmethod
    def argv(self, command: Sequence[str]) -> list[str | bytes]:
        """What runs it there; its input and output are the command's."""

    @abstractmethod
    def not_started(self, error: OSError) -> ScratchflowError:
        """The error that says why that could not be started."""

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        """Runs a command to its end; `CommandTimedOut` when it takes longer."""
        try:
            return run_child(
                self.argv(argv), stdin=stdin, timeout_s=timeout_s, environment=self.environment
            )
        except ChildTimedOut:
            raise CommandTimedOut(
                command=shown_command(argv), host=self.host, seconds=f"{timeout_s:g}"
            ) from None
        except OSError as error:
            raise self.not_started(error) from None

    def stream(
        self, argv: Sequence[str], *, stdin: bytes = b"", hold_stdin: bool = False
    ) -> ChildStream:
        """Starts a command and gives its stdout line by line."""
        try:
            return ChildStream(
                self.argv(argv), stdin=stdin, hold_stdin=hold_stdin, environment=self.environment
            )
        except OSError as error:
            raise self.not_started(error) from None


class JobStep(Way):
    """Each command is a step of the job."""

    def argv(self, command: Sequence[str]) -> list[str | bytes]:
        return [*step_argv(self.held.job_id, self.host, command)]

    def not_started(self, error: OSError) -> ScratchflowError:
        reason = f"`srun` cannot be started ({_words(error)})"
        return SlurmUnreachable(host=socket.gethostname(), reason=reason)


class NodeSsh(Way):
    """Each command is an ssh session, which is told what a step would know of its job.

    It ends with the job where the site adopts such sessions into it, and not elsewhere.
    """

    def __init__(
        self, held: RunningAllocation, profile: str, environment: Mapping[str, str]
    ) -> None:
        super().__init__(held, environment)
        self._profile = profile
        self._told = as_told_by_slurm(held.job_id, self.host, self.environment)
        self.environment = ssh_environment(self.environment)
        know_node(keys_on_login(), profile, self.host)

    def argv(self, command: Sequence[str]) -> list[str | bytes]:
        told = ["env", *self._told, *command]
        return neighbour_argv(keys_on_login(), self._profile, self.host, told)

    def not_started(self, error: OSError) -> ScratchflowError:
        reason = f"`ssh` cannot be started on the login host ({_words(error)})"
        return NodeSilent(node=self.host, job_id=self.held.job_id, reason=reason)


def way_onto(held: RunningAllocation, profile: str, environment: Mapping[str, str]) -> Way:
    """The way that this host has: `srun` was asked before anything is done there."""
    if steps_overlap(environment):
        return JobStep(held, environment)
    return NodeSsh(held, profile, environment)


def _words(error: OSError) -> str:
    return (error.strerror or "no reason").lower()
