"""Two ways to give a command: the flow within this process, or the real program in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from scratchflow.dispatch.operations import ON_NODE, function_of
from scratchflow.model import requests
from scratchflow.model.errors.base import InternalBug, ScratchflowError
from scratchflow.model.errors.by_code import error_from_agent
from scratchflow.model.requests import Arguments
from scratchflow.model.results.base import Result
from scratchflow.node.progress import Notifier
from tests.oracle.clocks import WallClock, forget_clock_of, why_no_clock
from tests.oracle.desk import Desk
from tests.oracle.killing import ChildFailed, Outcome, Wait, end_helpers, in_a_child
from tests.oracle.system_calls import SystemCall, killed_at, why_no_kills

R = TypeVar("R", bound=Result)
ROOT = Path(__file__).resolve().parents[2]
# Why commands that ran beside others were refused, for the one who reads a failure.
REFUSALS: deque[str] = deque(maxlen=3)
# No command here has that much to do.
_HANGS_AFTER_S = 120

_OPS: dict[type[Arguments], str] = {
    requests.Backup: "backup",
    requests.Restore: "restore",
    requests.Verify: "snapshots verify",
    requests.Prune: "snapshots prune",
    requests.Export: "snapshots export",
    requests.Import: "snapshots import",
}


class Commands(Protocol):
    """What the oracle asks of the product."""

    def do(self, request: Arguments, kind: type[R]) -> R:
        """Gives the command and waits; raises the error that it ends with."""

    def start(self, request: Arguments) -> Wait:
        """Gives the command beside whatever comes next."""

    def kill(self, request: Arguments, at_call: int, call: SystemCall) -> Outcome:
        """Gives the command and kills it at one of its calls, if it makes that many."""


class InProcess:
    """The flows, called from here: many commands in a second."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def do(self, request: Arguments, kind: type[R]) -> R:
        done = function_of(ON_NODE[_OPS[type(request)]])(
            self._desk.context, Notifier(lambda _: None), request
        )
        assert isinstance(done, kind)
        return done

    def start(self, request: Arguments) -> Wait:
        return in_a_child(lambda: self.do(request, Result))

    def kill(self, request: Arguments, at_call: int, call: SystemCall) -> Outcome:  # noqa: ARG002 - it counts all of them
        return in_a_child(lambda: self.do(request, Result), at_call)()


class Program:
    """`scratchflow --json` as people start it, with a home, a config file and a clock of its own."""

    def __init__(self, desk: Desk, clock: WallClock, count: Callable[[str], None]) -> None:
        self._desk = desk
        self._clock = clock
        self._count = count
        self._started = 0

    def do(self, request: Arguments, kind: type[R]) -> R:
        running = self._run(request)
        code = running.wait()
        if code < 0:
            raise ChildFailed(f"the program ended by signal {-code}")
        return msgspec.convert(running.summary(code), kind)

    def start(self, request: Arguments) -> Wait:
        running = self._run(request)
        return running.outcome

    def kill(self, request: Arguments, at_call: int, call: SystemCall) -> Outcome:
        # A restore takes snapshots before and after.
        longer = 3 if isinstance(request, requests.Restore) else 1
        outcome = self._run(request, killed_at(call, at_call, longer=longer)).outcome()
        if outcome == "killed":
            self._count("program kills")
        return outcome

    def _run(self, request: Arguments, before: tuple[str, ...] = ()) -> _Running:
        self._desk.write_config()
        self._count("program commands")
        self._started += 1
        argv = [*before, sys.executable, "-m", "scratchflow"]
        argv += ["--config", str(self._desk.config), "--json", *_arguments(request)]
        environment = {**self._desk.environment, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        environment |= self._clock.environment
        return _Running(argv, environment, self._desk.directory / f"said-{self._started}")


class _Running:
    """The program at work; what it says goes to files, which no helper of it can keep open."""

    def __init__(self, argv: list[str], environment: dict[str, str], said: Path) -> None:
        self._said = said
        self._errors = said.with_suffix(".err")
        with self._said.open("wb") as out, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                argv,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                start_new_session=True,
            )

    def wait(self) -> int:
        """The exit code; all that it had started ends with it."""
        try:
            return self._process.wait(_HANGS_AFTER_S)
        except subprocess.TimeoutExpired:
            raise ChildFailed(f"{self._process.args!r} hangs") from None
        finally:
            end_helpers(self._process.pid)
            self._process.wait()
            forget_clock_of(self._process.pid)

    def outcome(self) -> Outcome:
        code = self.wait()
        if code < 0:
            self._forget()
            return "killed"
        try:
            self.summary(code)
        except ScratchflowError as error:
            REFUSALS.append(f"{error.code}: {error}")
            return "refused"
        return "done"

    def summary(self, code: int) -> dict[str, Any]:
        """The data of the last line, or the error that it tells."""
        errors = self._errors.read_text(errors="replace")
        lines = self._said.read_bytes().splitlines()
        self._forget()
        if "Traceback" in errors or not lines:
            raise ChildFailed(f"the program ended with exit code {code}: {errors}")
        last: dict[str, Any] = json.loads(lines[-1])
        if last["exit_code"] != code:
            raise ChildFailed(f"exit code {code}, but it says {last}")
        if last["type"] == "summary":
            data: dict[str, Any] = last["data"]
            return data
        result = {key: last[key] for key in ("code", "message", "hint", "retryable", "exit_code")}
        error = error_from_agent(**result)
        if isinstance(error, InternalBug):
            raise ChildFailed(f"{error}\n{errors}")
        raise error

    def _forget(self) -> None:
        self._said.unlink()
        self._errors.unlink()


def _arguments(request: Arguments) -> list[str]:
    """The command line that means this request."""
    verb = _OPS[type(request)].split()
    if isinstance(request, requests.Backup):
        return [
            *verb,
            *_flags(request, "full", "allow_shrink"),
            *_option("--message", request.message),
        ]
    if isinstance(request, requests.Restore):
        return [*verb, *_restored(request)]
    if isinstance(request, requests.Export):
        return [*verb, request.file, request.snapshot]
    if isinstance(request, requests.Import):
        return [*verb, request.file]
    return verb


def _restored(request: requests.Restore) -> list[str]:
    snapshot = [] if request.snapshot == "latest" else [request.snapshot]
    paths = [word for path in request.paths for word in ("--path", path)]
    places = [*_option("--to", request.to), *_option("--from", request.source)]
    return [*snapshot, *paths, *places, *_flags(request, "replace", "abandon")]


def _flags(request: Arguments, *names: str) -> list[str]:
    return [f"--{name.replace('_', '-')}" for name in names if getattr(request, name)]


def _option(flag: str, value: str | None) -> list[str]:
    return [flag, value] if value else []


def why_no_program() -> str:
    """Why the program cannot be tried here in all ways; empty when it can."""
    return why_no_kills() or why_no_clock()


def commands_of(desk: Desk, count: Callable[[str], None]) -> Commands:
    """The program where the clock is the machine's, else the flows."""
    clock = desk.clock
    return Program(desk, clock, count) if isinstance(clock, WallClock) else InProcess(desk)
