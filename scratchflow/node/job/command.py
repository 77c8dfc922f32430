"""The command of a job: what is run, with which environment, and what happens until it ends."""

from __future__ import annotations

import math
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import FrameType

import msgspec

from scratchflow.node.job.limit_clock import LimitClock

END_S = 15.0
"""How long the command may take after SIGTERM; Slurm kills everything KillWait (30 s) after it."""
_KILLED_S = 2.0


class Bell:
    """Wakes who waits for it. A handler of signals may ring it at any moment.

    It may not set a `threading.Event`: in the middle of that one's own `wait` or `clear` it would wait for itself for ever.
    """

    def __init__(self) -> None:
        self._rings: queue.SimpleQueue[None] = queue.SimpleQueue()

    def ring(self) -> None:
        self._rings.put(None)

    def wait(self, within_s: float) -> bool:
        """Whether it has rung since the last time, or does within so long."""
        try:
            self._rings.get(timeout=max(0.0, within_s))
        except queue.Empty:
            return False
        with suppress(queue.Empty):
            while True:
                self._rings.get_nowait()
        return True


class JobSignals:
    """What Slurm sends to the batch script. They end nothing by themselves."""

    def __init__(self) -> None:
        self.arrived = Bell()
        self.ends = False
        self.saves = False
        self.hung_up = False
        self.warned = False
        """Whether the command has got the signal that it asked for."""

    def caught(self) -> AbstractContextManager[None]:
        """SIGTERM is the job's end, SIGUSR1 a while before its time limit. A hang-up means nothing here."""
        return self._caught(signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGINT)

    def caught_before_the_command(self) -> AbstractContextManager[None]:
        """Only SIGUSR1, which would end the process: a restore may take until shortly before the time limit."""
        return self._caught(signal.SIGUSR1)

    def take_warning(self) -> bool:
        """Whether SIGUSR1 has come since this was last asked."""
        has_come = self.saves
        if has_come:  # one that comes right now stays for the next time
            self.saves = False
        return has_come

    def wait_for_end(self, within_s: float) -> None:
        """Until SIGTERM has come, or so long."""
        until_s = time.monotonic() + within_s
        while not self.ends and (left_s := until_s - time.monotonic()) > 0:
            self.arrived.wait(left_s)

    @contextmanager
    def _caught(self, *numbers: signal.Signals) -> Iterator[None]:
        def hear(signum: int, _frame: FrameType | None) -> None:
            self.ends = self.ends or signum == signal.SIGTERM
            self.saves = self.saves or signum == signal.SIGUSR1
            self.hung_up = self.hung_up or signum == signal.SIGHUP
            self.arrived.ring()

        before = {number: signal.signal(number, hear) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class BeforeLimit(msgspec.Struct, frozen=True):
    """What happens shortly before the time limit: the signal that the command gets, and when it has to be over."""

    signum: int
    limit: LimitClock
    # None: it may run until its time limit.
    ends_within_s: float | None = None

    def seconds_to_end(self) -> float:
        """How long the command may take from now on: less, when its signal comes late."""
        if self.ends_within_s is None:
            return math.inf
        late_s = max(0.0, self.limit.before_s - self.limit.left_s())
        return max(0.0, self.ends_within_s - late_s)


class Started(msgspec.Struct, frozen=True):
    """What is run, and where its output goes."""

    argv: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    output: int
    error: int
    # How Slurm is asked to signal the steps of the job, when the command is one of them.
    signal_steps: Callable[[str], None] | None = None

    def send(self, process: subprocess.Popen[bytes], signum: int) -> None:
        """The command gets the signal. `srun` passes on these two; it answers SIGTERM by killing what it started."""
        if self.signal_steps is not None and signum not in {signal.SIGUSR1, signal.SIGUSR2}:
            self.signal_steps(signal.Signals(signum).name.removeprefix("SIG"))
            return
        with suppress(ProcessLookupError):
            process.send_signal(signum)


def job_argv(
    command: Sequence[str], environment: Mapping[str, str], *, script: bool, overlap: bool
) -> list[str]:
    """The command as a step of the job; a batch script starts its own steps."""
    if script or shutil.which("srun", path=environment.get("PATH")) is None:
        return [*command]
    beside = ["--overlap"] if overlap else []
    return ["srun", "--unbuffered", "--export=ALL", *beside, "--", *command]


def cannot_start(command: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
    """Why this node cannot run the command, or nothing. `srun` itself would say so only in the log."""
    program, path = command[0], environment.get("PATH")
    here = directory / program  # where `srun` looks first
    if here.is_file() and not os.access(here, os.X_OK):
        return f"`{program}` is not executable: `chmod +x {shlex.quote(program)}` in the workspace, then submit it again"
    if here.is_file() or ("/" not in program and shutil.which(program, path=path)):
        return ""
    if "/" in program:
        return f"there is no file `{program}`"
    other = f"{program}3"
    instead = f", but there is `{other}`" if shutil.which(other, path=path) else ""
    return f"there is no program `{program}` on the PATH{instead}; `environment` in the profile sets up modules, conda or a venv"


def cannot_interpret(
    command: Sequence[str], environment: Mapping[str, str], directory: Path, script: str
) -> str:
    """Why this node has nothing that runs the batch script, or nothing. The command begins with its interpreter."""
    program = command[0]
    if shutil.which(
        directory / program if "/" in program else program, path=environment.get("PATH")
    ):
        return ""
    is_there = "/" in program and (directory / program).is_file()
    lacks = f"`{program}` is not executable" if is_there else f"there is no program `{program}`"
    return f"{lacks}, which the first line of `{script}` names; correct that line in the workspace, then submit it again"


class NotBegun(Exception):
    """The system could not start the program: nothing ran, and nothing was made."""


def job_environment(environment: Mapping[str, str], job: str) -> dict[str, str]:
    """With what `srun` no longer takes from the job by itself, and without what would keep variables from it."""
    given = {name: value for name, value in environment.items() if name != "SLURM_EXPORT_ENV"}
    cpus = given.get("SLURM_CPUS_PER_TASK")
    if cpus:
        given["SRUN_CPUS_PER_TASK"] = cpus
    return {**given, "PYTHONUNBUFFERED": "1", "SCRATCHFLOW_JOB": job}


def run_to_end(
    started: Started,
    signals: JobSignals,
    save: Callable[[], None],
    every_s: float,
    before_limit: BeforeLimit | None = None,
) -> int:
    """Runs it, saves now and then, and returns its exit code; 128 and its number for a signal."""
    if before_limit:
        before_limit.limit.command_begins(is_heard=signals.take_warning())
    process = _popen(started)
    threading.Thread(target=_wait_for, args=(process, signals.arrived), daemon=True).start()
    _wait_and_save(started, process, signals, save, every_s, before_limit)
    if process.poll() is None:
        _end(started, process, signals, save)
    code = process.poll()
    if code is None:
        return 128 + signal.SIGTERM
    return code if code >= 0 else 128 - code


def _popen(started: Started) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            started.argv,
            cwd=started.directory,
            env=started.environment,
            stdin=subprocess.DEVNULL,
            stdout=started.output,
            stderr=started.error,
        )
    except OSError as error:
        raise NotBegun(
            f"`{started.argv[0]}` could not be started: {error.strerror or error}"
        ) from error


def _end(
    started: Started,
    process: subprocess.Popen[bytes],
    signals: JobSignals,
    save: Callable[[], None],
) -> None:
    """Lets the command end by itself for a while. What it has made until now is saved meanwhile: Slurm may be quicker."""
    until_s = time.monotonic() + END_S
    # Slurm has told the steps; a command that is none may not have heard.
    if started.signal_steps is None or not signals.ends:
        started.send(process, signal.SIGTERM)
    save()
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, until_s - time.monotonic()))
        return
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_KILLED_S)


def _wait_and_save(
    started: Started,
    process: subprocess.Popen[bytes],
    signals: JobSignals,
    save: Callable[[], None],
    every_s: float,
    before_limit: BeforeLimit | None,
) -> None:
    """Until the command is over, or has to be."""
    deadline_s = math.inf
    while process.poll() is None and not signals.ends:
        until_s = deadline_s - time.monotonic()
        due_s = before_limit.limit.due_in_s() if before_limit and not signals.warned else math.inf
        is_time = not signals.arrived.wait(min(every_s, until_s, due_s))
        if process.poll() is not None or time.monotonic() >= deadline_s or signals.ends:
            return
        is_near = signals.take_warning()
        if before_limit and not signals.warned:
            if is_near:
                before_limit.limit.hear()
            is_near = before_limit.limit.is_due()
            if is_near:
                signals.warned = True
                started.send(process, before_limit.signum)
                deadline_s = time.monotonic() + before_limit.seconds_to_end()
        if is_near or is_time:
            save()


def _wait_for(process: subprocess.Popen[bytes], arrived: Bell) -> None:
    process.wait()
    arrived.ring()
