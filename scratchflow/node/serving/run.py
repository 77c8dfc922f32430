"""`server run`: starts a program on the node, says when it answers, and stays with it until it ends.

It is a step of the job and needs nobody. Over ssh it is no step, and a guard ends it with the job.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.cluster.slurm.jobs import job
from scratchflow.cluster.this_host import step_id
from scratchflow.model.errors.run import RunDirectoryMissing
from scratchflow.model.errors.serve import ServerFailed, ServerSilent
from scratchflow.model.errors.workspace import WorkspaceFailed
from scratchflow.model.events import Status
from scratchflow.model.requests import RunServer
from scratchflow.model.results.serve import ServerEnded
from scratchflow.model.text import few_lines, last_line
from scratchflow.node.autobackup.job_guard import JobGuard
from scratchflow.node.autobackup.signals import LoopSignals
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.environment import environment_of
from scratchflow.node.former_scratch import require_workspace_here
from scratchflow.node.progress import Notifier
from scratchflow.node.serving.listening import (
    Address,
    free_port,
    is_open_to_the_network,
    is_silent,
    listens,
)
from scratchflow.node.serving.private_directory import private_directory
from scratchflow.node.serving.programs import Program, program_of, wants_port
from scratchflow.workspace.own_scratch import make_own_scratch
from scratchflow.workspace.servers import Listening, mark_answering, mark_ended, read_server
from scratchflow.workspace.workspace import expand

ANSWER_S = 120.0
"""How long a server may take until it answers: TensorBoard with TensorFlow loads for half a minute."""
CLAIM_S = 300.0
"""How long whoever moved it here may take to note that."""
UNCLAIMED = "whoever started it is gone"
_CLAIM_LOOK_S = 5.0
_LOOK_S = 0.1
_END_S = 5.0
_TAIL_BYTES = 8192
_SET_DEATH_SIGNAL = 1


def run_server(
    here: NodeContext,
    notify: Notifier,
    asked: RunServer,
    environment: Mapping[str, str] = os.environ,
) -> ServerEnded:
    """Runs until the program ends, the job ends or somebody stops it. `Status` says that it answers."""
    directory = _directory(here, asked)
    variables = environment_of(here, environment)
    signals = LoopSignals()
    with ExitStack() as open_until:
        open_until.enter_context(signals.caught())
        private = open_until.enter_context(private_directory())
        address = Address(port=free_port()) if wants_port(asked) else Address(str(private / "s"))
        program = program_of(
            asked, address, variables, directory=directory, private=private, node=here.node
        )
        server = _Server(here, asked, address, _log_file(here, asked), signals)
        with server.started(program, directory):
            guard = _guard_of_no_step(here, environment)
            if guard is not None:
                open_until.enter_context(guard.watching())
            if not server.answers(program.page):
                return ServerEnded(reason=signals.reason)
            listening = server.listening(environment, program.logs)
            record = _Record(here, asked, environment)
            record.mark(listening)
            notify.emit(Status(data=msgspec.to_builtins(listening)))
            reason = server.until_the_end(record)
    if reason != signals.reason:  # nobody asked it to end
        mark_ended(expand("~", environment), here.settings.name, asked.name, asked.start, reason)
    return ServerEnded(reason=reason)


class _Record:
    """The record of this start, in the home that the login host shares; it writes that record, too, unless it is killed."""

    def __init__(self, here: NodeContext, asked: RunServer, environment: Mapping[str, str]) -> None:
        self._home, self._profile = expand("~", environment), here.settings.name
        self._name, self._start = asked.name, asked.start
        self._is_ours = False

    def mark(self, listening: Listening) -> None:
        """Notes that it answers. In a move the record is still that of the server before."""
        noted = mark_answering(self._home, self._profile, self._name, self._start, listening)
        # Without a record there is no shared home here: the login host alone has it.
        self._is_ours = noted is not False

    def is_ours(self) -> bool:
        """Whether the record is this start's."""
        if not self._is_ours:
            found = read_server(self._home, self._profile, self._name)
            self._is_ours = found is not None and found.start == self._start
        return self._is_ours


def _directory(here: NodeContext, asked: RunServer) -> str:
    require_workspace_here(here)
    directory = os.path.join(here.workspace.path, asked.cwd)
    if not os.path.isdir(directory):
        raise RunDirectoryMissing(path=directory, node=here.node)
    return directory


def _log_file(here: NodeContext, asked: RunServer) -> Path:
    """What the program prints, beside the workspace and readable for its owner alone."""
    try:
        make_own_scratch(here.workspace)
        log = here.workspace.state / f"server-{asked.name}.log"
        log.unlink(missing_ok=True)
        os.close(os.open(log, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise WorkspaceFailed(path=here.workspace.state, reason=error.strerror) from None
    return log


def _guard_of_no_step(here: NodeContext, environment: Mapping[str, str]) -> JobGuard | None:
    job_id, name = here.job_id, here.job_name()
    if job_id is None or not name or step_id(environment) is not None:
        return None
    slurm = this_slurm(environment)
    return JobGuard(lambda: job(slurm, job_id, name), lambda: False, None)


class _Server:
    """The program while it runs."""

    def __init__(
        self,
        here: NodeContext,
        asked: RunServer,
        address: Address,
        log: Path,
        signals: LoopSignals,
    ) -> None:
        self._here, self._asked, self._address = here, asked, address
        self._log, self._signals = log, signals
        self._process: subprocess.Popen[bytes] | None = None

    def started(self, program: Program, directory: str) -> ExitStack:
        """Starts it; at the end of the block it is gone, with all that it started."""
        try:
            with self._log.open("wb") as output:
                process = subprocess.Popen(
                    program.argv,
                    cwd=directory,
                    env=program.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    preexec_fn=_die_with_us,  # noqa: PLW1509 - no thread of ours runs yet
                )
        except OSError as error:
            raise self._failed(f"cannot be started: {error.strerror}") from None
        self._process = process
        threading.Thread(target=self._wait_for, args=(process,), daemon=True).start()
        ending = ExitStack()
        ending.callback(_end_group, process)
        return ending

    def answers(self, page: str) -> bool:
        """Waits until it does; False when it is to end before. ServerFailed or ServerSilent with its last words."""
        until = self._here.monotonic() + ANSWER_S
        while self._here.monotonic() < until:
            if self._signals.reason:
                return False
            if self._code() is not None:
                raise self._failed(self._how())
            if listens(self._address, page=page):
                return True
            self._signals.stop.wait(_LOOK_S)
        raise ServerSilent(
            name=self._asked.name,
            where=self._address,
            node=self._here.node,
            seconds=f"{ANSWER_S:g}",
            words=self._words(),
            log=self._log,
        )

    def listening(self, environment: Mapping[str, str], logs: str) -> Listening:
        """Where it is, and whether the logs that it shows are there."""
        port = self._address.port
        return Listening(
            node=self._here.node,
            step_id=step_id(environment),
            pid=os.getpid(),
            socket=self._address.socket,
            port=port,
            log=str(self._log),
            open_to_the_network=bool(port) and is_open_to_the_network(port),
            # The others were asked for a page before.
            silent=self._asked.kind == "command" and is_silent(self._address),
            missing_logs="" if os.path.isdir(logs) else logs,
        )

    def until_the_end(self, record: _Record) -> str:
        """Waits for its end, or ours; says which. One that no record names ends, too: nobody could ever stop it."""
        until = self._here.monotonic() + CLAIM_S
        while self._code() is None and not self._signals.reason:
            if record.is_ours():
                self._signals.stop.wait()
            elif self._here.monotonic() > until:
                return UNCLAIMED
            else:
                self._signals.stop.wait(_CLAIM_LOOK_S)
        return self._signals.reason or f"{self._how()}: {last_line(self._said())}".rstrip(": ")

    def _wait_for(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._signals.stop.set()

    def _code(self) -> int | None:
        return self._process.poll() if self._process else None

    def _how(self) -> str:
        code = self._code() or 0
        return f"exit code {code}" if code >= 0 else f"signal {-code}"

    def _failed(self, how: str) -> ServerFailed:
        return ServerFailed(
            name=self._asked.name,
            node=self._here.node,
            how=how,
            words=self._words(),
            log=self._log,
        )

    def _words(self) -> str:
        return few_lines(self._said()) or "it printed nothing"

    def _said(self) -> str:
        with suppress(OSError), self._log.open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            log.seek(max(0, size - _TAIL_BYTES))
            return log.read().decode("utf-8", "replace")
        return ""


def _die_with_us() -> None:
    """In the new process: a SIGKILL of ours is one of its own, so that nothing goes on listening."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signum)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
