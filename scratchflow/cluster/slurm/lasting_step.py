"""A command on the node that outlives whoever started it: `srun` is cut loose once its step runs.

Seen with Slurm 22.05: a hang-up or SIGTERM of `srun` ends its step at once, and that is what a closed tmux,
a logout policy or an orderly shutdown of the login host sends. A SIGKILL does not: the step then belongs to
the job alone, and ends with it. An `ssh` may go either way: its far command has no terminal, and is told
nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.text import last_line

SIGNALS = {"USR1", "TERM", "KILL"}
_END_S = 10.0
_OUTPUT_BYTES = 1 << 20


class LastingStep:
    """One that is being started; `cut_loose` when it has shown that it lives, else `give_up`."""

    def __init__(self, process: subprocess.Popen[bytes], program: str, output: IO[bytes]) -> None:
        self._process = process
        self._program = program
        self._output = output
        self._said = b""

    def failure(self) -> str | None:
        """What was said on stderr if it has ended already; None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        if self._process.stderr and not self._process.stderr.closed:
            self._said += self._process.stderr.read()
        return last_line(self._said) or f"`{self._program}` exited with {code}"

    def output_lines(self) -> list[bytes]:
        """What it has printed so far, the last of it when that is much."""
        size = os.fstat(self._output.fileno()).st_size
        start = max(0, size - _OUTPUT_BYTES)
        return os.pread(self._output.fileno(), _OUTPUT_BYTES, start).splitlines()

    def has_ended_well(self) -> bool:
        """Whether it has ended by itself, with nothing to complain about."""
        return self._process.poll() == 0

    def cut_loose(self) -> None:
        """From here on it belongs to the job, or to itself where it is no step."""
        self._kill(signal.SIGKILL)

    def give_up(self) -> None:
        """Ends it, with its step. Over ssh nobody can: what still starts there is on, as was asked."""
        self._kill(signal.SIGTERM)

    def _kill(self, signum: signal.Signals) -> None:
        for number in (signum, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
                break
        for pipe in (self._process.stdin, self._process.stderr, self._output):
            if pipe:
                with suppress(OSError):
                    pipe.close()


def output_file() -> IO[bytes]:
    """For its output. A file, not a pipe: nobody reads it when all goes well, and it may outlive us."""
    import tempfile  # only where something is started

    return tempfile.TemporaryFile()


def start_lasting_step(
    argv: Sequence[str | bytes], *, stdin: bytes, environment: Mapping[str, str]
) -> LastingStep:
    """Runs what starts it on the node. It reads `stdin`; after the cut nobody hears what it says.

    The OSError when the program cannot be started.
    """
    output = output_file()
    try:
        process = subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError:
        output.close()
        raise
    if process.stdin:
        with suppress(BrokenPipeError):  # it has ended; `failure` tells why
            process.stdin.write(stdin)
            process.stdin.flush()
    return LastingStep(process, os.fsdecode(argv[0]), output)


def step_runs(slurm: Slurm, job_id: int, step_id: int) -> bool | None:
    """Whether Slurm still has the step; None when it does not say."""
    try:
        done = slurm.ask(["squeue", "--steps", "--noheader", "--format=%i", f"--jobs={job_id}"])
    except SlurmUnreachable:
        return None
    if done.returncode != 0:
        return None
    return f"{job_id}.{step_id}" in done.text.split()


def signal_step(slurm: Slurm, job_id: int, step_id: int, name: str) -> None:
    """Sends a signal to one step of a job of ours; one that has ended is fine."""
    if name not in SIGNALS:
        raise ValueError(f"not a signal for a step: {name}")
    who = [f"--user={slurm.user}", f"--signal={name}"]
    done = slurm.ask(["scancel", *who, f"{job_id}.{step_id}"])
    if done.returncode != 0 and "invalid job id" not in done.error_text.lower():
        raise slurm.unreachable(done.last_line)
