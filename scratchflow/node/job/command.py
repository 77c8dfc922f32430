"""The command of a job: what is run, with which environment, and what happens until it ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import msgspec

END_S = 15.0
"""How long the command may take after SIGTERM; Slurm kills everything KillWait (30 s) after it."""


class JobSignals:
    """What Slurm sends to the batch script. They end nothing by themselves."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.ends = False
        self.saves = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """SIGTERM is the job's end, SIGUSR1 a while before its time limit. A hang-up means nothing here."""

        def hear(signum: int, _frame: FrameType | None) -> None:
            self.ends = self.ends or signum == signal.SIGTERM
            self.saves = self.saves or signum == signal.SIGUSR1
            self.arrived.set()

        numbers = (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGINT)
        before = {number: signal.signal(number, hear) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Started(msgspec.Struct, frozen=True):
    """What is run, and where its output goes."""

    argv: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    output: int
    error: int


def job_argv(
    command: Sequence[str], environment: Mapping[str, str], *, script: bool, overlap: bool
) -> list[str]:
    """The command as a step of the job; a batch script starts its own steps."""
    if script or shutil.which("srun", path=environment.get("PATH")) is None:
        return [*command]
    beside = ["--overlap"] if overlap else []
    return ["srun", "--unbuffered", "--export=ALL", *beside, "--", *command]


def job_environment(environment: Mapping[str, str], job: str) -> dict[str, str]:
    """With what `srun` no longer takes from the job by itself, and without what would keep variables from it."""
    given = {name: value for name, value in environment.items() if name != "SLURM_EXPORT_ENV"}
    cpus = given.get("SLURM_CPUS_PER_TASK")
    if cpus:
        given["SRUN_CPUS_PER_TASK"] = cpus
    return {**given, "PYTHONUNBUFFERED": "1", "SCRATCHFLOW_JOB": job}


def run_to_end(
    started: Started, signals: JobSignals, save: Callable[[], None], every_s: float
) -> int:
    """Runs it, saves now and then, and returns its exit code; 128 and its number for a signal."""
    process = subprocess.Popen(
        started.argv,
        cwd=started.directory,
        env=started.environment,
        stdin=subprocess.DEVNULL,
        stdout=started.output,
        stderr=started.error,
    )
    threading.Thread(target=_wait_for, args=(process, signals.arrived), daemon=True).start()
    while process.poll() is None and not signals.ends:
        is_time = not signals.arrived.wait(every_s)
        signals.arrived.clear()
        if process.poll() is None and (is_time or signals.saves):
            signals.saves = False
            save()
    if process.poll() is None:
        # Slurm has told the steps; a command that is none may not have heard.
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
    code = process.poll()
    if code is None:
        return 128 + signal.SIGTERM
    return code if code >= 0 else 128 - code


def _wait_for(process: subprocess.Popen[bytes], arrived: threading.Event) -> None:
    process.wait()
    arrived.set()
