"""An agent on the node, or on this machine, that outlives whoever started it: started, looked for, signalled."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress

from scratchflow.agent.name import agent_command, own_command
from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.cluster.slurm.lasting_step import (
    LastingStep,
    output_file,
    signal_step,
    start_lasting_step,
    step_runs,
)
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.reach.node import NodeSsh, node_transport

_SIGNAL_S = 20.0
# The number was read from a file, and is given out again: it has to be an agent's still.
_SIGNAL = 'tr "\\0" "\\n" < "/proc/$1/cmdline" | grep -qx agent && kill -s "$2" "$1"'
_GONE = 1


def start_on_node(
    held: RunningAllocation, profile: str, environment: Mapping[str, str], request: bytes
) -> LastingStep:
    """The agent as a step of the job, or over ssh; it reads the request."""
    node = node_transport(held, profile, environment)
    try:
        argv = node.carried(agent_command())
        return start_lasting_step(argv, stdin=request, environment=node.environment)
    except OSError as error:
        raise node.not_started(error) from None


class _HereStep(LastingStep):
    """A process on this machine: it outlives us as it is."""

    def cut_loose(self) -> None:
        """Nobody hears what it says from here on, or waits for its end."""
        self._output.close()
        self._process.returncode = 0


def start_here(request: bytes) -> LastingStep:
    """Without a scheduler: a process of this machine, in a session of its own."""
    output = output_file()
    process = subprocess.Popen(
        own_command("agent"),
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    if process.stdin:
        with suppress(BrokenPipeError):
            process.stdin.write(request)
            process.stdin.close()
    return _HereStep(process, "scratchflow agent", output)


class AgentAt:
    """An agent that was started so: as this step of the job, or as this process where it is none."""

    def __init__(
        self,
        held: RunningAllocation | None,
        profile: str,
        environment: Mapping[str, str],
        *,
        step_id: int | None,
        pid: int,
    ) -> None:
        self._held, self._profile, self._environment = held, profile, environment
        self._step_id, self._pid = step_id, pid

    def runs(self) -> bool | None:
        """Whether it does; None when neither Slurm nor the node says."""
        if self._held is None:
            return _signal_here(self._pid, 0)
        if self._step_id is not None:
            return step_runs(this_slurm(self._environment), self._held.job_id, self._step_id)
        return self._over_ssh(self._held, "0")

    def signal(self, name: str) -> None:
        """Sends it USR1, TERM or KILL; one that has ended is fine."""
        if self._held is None:
            _signal_here(self._pid, signal.Signals[f"SIG{name}"])
        elif self._step_id is not None:
            slurm = this_slurm(self._environment)
            signal_step(slurm, self._held.job_id, self._step_id, name)
        else:
            self._over_ssh(self._held, name)

    def _over_ssh(self, held: RunningAllocation, name: str) -> bool | None:
        argv = ["sh", "-c", _SIGNAL, "sh", str(self._pid), name]
        try:
            node = NodeSsh(held, self._profile, self._environment)
            code = node.run(argv, timeout_s=_SIGNAL_S).returncode
        except ScratchflowError:
            return None
        return code == 0 if code in {0, _GONE} else None


def _signal_here(pid: int, number: int) -> bool:
    """Whether the process was there to get it, and is an agent of ours still."""
    if not _is_agent(pid):
        return False
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def _is_agent(pid: int) -> bool:
    if pid <= 1:
        return False
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as words:
            return b"agent" in words.read().split(b"\0")
    except OSError:
        # macOS has no such thing; the number is all there is.
        return not os.path.exists("/proc/self")
