"""The transports from the login host to the node: a step of its job or, where steps cannot overlap, ssh.

A step needs no sshd on the node, no key on the login host and no open port; it has the job's cores,
and ends with the job.
"""

from __future__ import annotations

import shutil
import socket
import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from scratchflow.cluster.command import command_environment
from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.cluster.slurm.overlap import has_binding, has_overlap
from scratchflow.cluster.slurm.request import step_argv
from scratchflow.cluster.this_host import slurm_variables
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import NodeSilent
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.process.child import Completed
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.transport.base import Feed, Transport, check_argv
from scratchflow.ssh.transport.child import ChildStream, run_carried

# What each `srun` said: a process asks once.
_overlaps: dict[str, bool] = {}
_one_asks = threading.Lock()
_binds: dict[str, bool] = {}


def steps_overlap(environment: Mapping[str, str]) -> bool:
    """Whether this host's `srun` can start a step beside others; a second thread waits for the answer of the first."""
    srun = shutil.which("srun", path=environment.get("PATH")) or ""
    with _one_asks:
        if srun not in _overlaps:
            _overlaps[srun] = has_overlap(this_slurm(environment))
        return _overlaps[srun]


def cpus_are_bound(environment: Mapping[str, str]) -> bool:
    """Whether this cluster may bind a step to some CPUs; so it is taken to be when Slurm does not say."""
    srun = shutil.which("srun", path=environment.get("PATH")) or ""
    if srun not in _binds:
        try:
            _binds[srun] = has_binding(this_slurm(environment))
        except ScratchflowError:  # the option that is then given costs a remark, no more
            return True
    return _binds[srun]


def keys_on_login() -> SshPaths:
    """Where the login host keeps the keys of nodes: beside the agent, and removed with it."""
    return SshPaths.of("~/.local/share/scratchflow/ssh/config")


class NodeTransport(Transport):
    """Runs commands on the node of a job; each is carried by a program that runs here.

    A connection that breaks looks like a command that failed: the agent that did not finish its
    stream tells the two apart, and `NodeWatch` notices a node that says nothing any more.
    """

    def __init__(self, allocation: RunningAllocation, environment: Mapping[str, str]) -> None:
        self.allocation = allocation
        self.host = allocation.node
        self.environment = command_environment(environment)

    @abstractmethod
    def carried(self, command: Sequence[str]) -> list[str | bytes]:
        """What is run here to run the command there; its input and output are the command's."""

    @abstractmethod
    def not_started(self, error: OSError) -> ScratchflowError:
        """The error for a command that could not be started."""

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        carried = self.carried(check_argv(argv))
        try:
            return run_carried(
                self.host,
                argv,
                carried,
                stdin=stdin,
                timeout_s=timeout_s,
                environment=self.environment,
            )
        except OSError as error:
            raise self.not_started(error) from None

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> ChildStream:
        carried = self.carried(check_argv(argv))
        try:
            return ChildStream(
                carried,
                stdin=stdin,
                feed=feed,
                hold_stdin=hold_stdin,
                environment=self.environment,
            )
        except OSError as error:
            raise self.not_started(error) from None


class JobStep(NodeTransport):
    """Each command is a step of the job.

    One that a signal ended has the code 128 + its number. `srun` writes lines of its own to stderr,
    and has a code of its own for a program that is not there.
    """

    def carried(self, command: Sequence[str]) -> list[str | bytes]:
        return [*step_argv(self.allocation.job_id, self.host, command)]

    def not_started(self, error: OSError) -> ScratchflowError:
        reason = f"`srun` cannot be started ({_words(error)})"
        return SlurmUnreachable(host=socket.gethostname(), reason=reason)

    def describe(self) -> str:
        return f"a step of job {self.allocation.job_id} on {self.host} (`srun` knows `--overlap`)"


class NodeSsh(NodeTransport):
    """Each command is an ssh session, which is told what a step would know of its job.

    It ends with the job where the site adopts such sessions into it, and not elsewhere. A command
    that a signal ended has the code 255, like a connection that broke. What it needs is loaded when there is one: few
    sites have an `srun` that is so old.
    """

    def __init__(
        self,
        allocation: RunningAllocation,
        profile: str,
        environment: Mapping[str, str],
        *,
        keys: SshPaths | None = None,
    ) -> None:
        from scratchflow.ssh.transport.node import know_node
        from scratchflow.ssh.transport.openssh import ssh_environment

        super().__init__(allocation, environment)
        self._profile = profile
        self._keys = keys or keys_on_login()
        self._job = slurm_variables(allocation.job_id, self.host, self.environment)
        self.environment = ssh_environment(self.environment)
        know_node(self._keys, profile, self.host)

    def carried(self, command: Sequence[str]) -> list[str | bytes]:
        from scratchflow.ssh.transport.node import neighbour_argv

        in_job = ["env", *self._job, *command]
        return neighbour_argv(self._keys, self._profile, self.host, in_job)

    def not_started(self, error: OSError) -> ScratchflowError:
        reason = f"`ssh` cannot be started on the login host ({_words(error)})"
        return NodeSilent(node=self.host, job_id=self.allocation.job_id, reason=reason)

    def describe(self) -> str:
        return f"ssh to {self.host} (`srun` knows no `--overlap`)"


def node_transport(
    allocation: RunningAllocation, profile: str, environment: Mapping[str, str]
) -> NodeTransport:
    """The transport that this host has: `srun` is asked before anything is done on the node."""
    if steps_overlap(environment):
        return JobStep(allocation, environment)
    return NodeSsh(allocation, profile, environment)


def _words(error: OSError) -> str:
    return (error.strerror or "no reason").lower()
