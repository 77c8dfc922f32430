"""`run` and `shell`: a command on the node, with this terminal's input and output."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from scratchflow.cluster.command import command_environment
from scratchflow.cluster.slurm.request import login_shell_argv
from scratchflow.cluster.slurm.step_refused import is_refused
from scratchflow.config.settings import Asked
from scratchflow.config.warm_run import WarmRun, write_warm_run
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of, is_here, is_login_host
from scratchflow.model.errors import (
    AllocationEnded,
    AllocationMissing,
    CommandSignalled,
    NodeSilent,
    OtherNodeFailed,
    OutputFailed,
    RunCut,
    RunDirectoryMissing,
    RunProgramMissing,
    ScratchflowError,
    UsageInvalid,
)
from scratchflow.model.events import Emit, Event, Warned
from scratchflow.model.requests import EVERY_NODE, CarrierOf, Hold, RunAt, RunDetached
from scratchflow.model.results import (
    NodeFailure,
    OtherCarrier,
    RunCarrier,
    RunEnded,
    RunPlace,
    RunWindow,
)
from scratchflow.model.text import last_line
from scratchflow.process.carried import Outcome, carry
from scratchflow.process.carried_all import Far, carry_all
from scratchflow.process.far_words import (
    Way,
    followed_argv,
    kill_argv,
    replacing_argv,
    terminal_argv,
)
from scratchflow.process.in_terminal import call_in_terminal
from scratchflow.process.interrupted import Interrupted
from scratchflow.reach.login import SharedLogin, share_login
from scratchflow.report.question import question_open

_REFUSED_S, _AGAIN_S = 20.0, 1.0
# What a shell says of a command that it cannot start, in the environment that the command would have.
_NOT_STARTED = {126: "it is not executable", 127: "there is no such program"}
_CAN_START = b"""\
case $1 in
*/*) [ -e "$1" ] || exit 127; [ -x "$1" ] && [ ! -d "$1" ] || exit 126 ;;
*) command -v "$1" >/dev/null || exit 127 ;;
esac
"""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is to run; an empty command is the user's login shell."""

    command: tuple[str, ...] = ()
    cwd: str = ""
    terminal: bool = False
    detach: bool = False
    take_node: bool = False
    every_node: bool = False


def run(caller: Caller, emit: Emit, wanted: Wanted) -> RunEnded:
    """Runs it in a step of the job until it ends. On the node itself it takes the place of this process."""
    settings = caller.settings()
    is_elsewhere = wanted.detach or wanted.every_node
    if not is_elsewhere and is_here(settings, caller.environment):
        with cluster_of(settings, caller, emit) as cluster:
            place = cluster.at_workspace("run place", RunAt(), RunPlace)
        _become(place, wanted)
    if wanted.terminal:
        _require_terminal(wanted)
    with _reached(caller, emit) as login, cluster_of(settings, caller, emit) as cluster:
        found = _carrier(cluster, wanted)
        # Of a command that nobody watches, nobody would see that its directory is not there.
        asked = RunAt(os.fsencode(wanted.cwd) if wanted.detach else b"")
        node = EVERY_NODE if wanted.every_node else ""
        place = cluster.at_workspace("run place", asked, RunPlace, job_id=found.job_id, node=node)
        start = _Start(cluster, login, found, wanted)
        if wanted.every_node:
            with question_open(emit):
                codes = _EveryNode(start, place).codes()
            code = next((one for one in codes.values() if one), 0)
            return RunEnded(node=found.node, job_id=found.job_id, code=code, codes=codes)
        if wanted.detach:
            window = _leave(start, place)
            return RunEnded(node=found.node, job_id=found.job_id, window=window)
        with question_open(emit):  # the terminal is the command's now
            code = _Foreground(start, place).code()
    return RunEnded(node=found.node, job_id=found.job_id, code=code)


def _require_terminal(wanted: Wanted) -> None:
    """A terminal on the node has no end of input: without one here, the command would wait for ever."""
    if os.isatty(0):
        return
    if wanted.command:
        problem = "`--pty` needs a terminal as its input, and this is none; leave it out here"
        raise UsageInvalid(problem=problem, command="scratchflow run")
    problem = "`shell` needs a terminal as its input, and this is none; `scratchflow run -- bash -l` does without"
    raise UsageInvalid(problem=problem, command="scratchflow shell")


def cut_error(outcome: Outcome, node: str, ended: str = "") -> RunCut:
    """The error for a command that had started, and of whose end nothing was heard; `ended` is what `job_end` says."""
    if ended:
        what_now = "the command ended with its job; `scratchflow up` takes another node"
        return RunCut(node=node, reason=ended, what_now=what_now)
    as_what = f" as process group {outcome.group}" if outcome.group else ""
    what_now = (
        f"it may still run there{as_what}; `scratchflow run --detach -- CMD` needs no connection"
    )
    return RunCut(node=node, reason="it ended before the command did", what_now=what_now)


def job_end(cluster: Cluster, job_id: int | None) -> str:
    """How the job of a command ended, in words; empty while it runs, and when nobody can say."""
    try:
        if cluster.on_login("run carrier", CarrierOf(), RunCarrier, emit=_unheard).job_id == job_id:
            return ""
    except AllocationMissing:
        pass
    except ScratchflowError:
        return ""
    try:
        cluster.at_workspace("run place", RunAt(), RunPlace, job_id=job_id, emit=_unheard)
    except AllocationEnded as error:
        return str(error)
    except ScratchflowError:  # Slurm is still at it
        pass
    return f"job {job_id} has ended"


def job_end_by_settings(environment: Mapping[str, str], job_id: str) -> str:
    """The same for whoever has reached no cluster; nothing is asked on the terminal."""
    if not job_id.isdigit():
        return ""
    caller = Caller(Asked(), environment)
    try:
        with cluster_of(caller.settings(), caller, _unheard) as cluster:
            return job_end(cluster, int(job_id))
    except ScratchflowError:
        return ""


def is_ended_by_others(outcome: Outcome) -> bool:
    """Whether the command was sent SIGTERM by nobody here: `clear`, and the time limit, end its job so."""
    return outcome.code == 128 + signal.SIGTERM and not outcome.signals


def ended_with_job(ended: str) -> Warned:
    """What is said beside the exit code of a command that ended with its job."""
    message = f"{ended}; the command ended with it (SIGTERM)"
    return Warned(code="run.job_ended", message=message)


def _unheard(_: Event) -> None:
    """The command's own output is what is shown."""


@contextmanager
def _reached(caller: Caller, emit: Emit) -> Iterator[SharedLogin | None]:
    """The shared connection to the login host; None where we are on it. Made first, so that agents ride it too."""
    settings = caller.settings()
    if is_login_host(settings, caller.environment):
        yield None
        return
    with share_login(settings, caller.environment, emit, may_ask=caller.may_ask) as login:
        yield login


def _carrier(cluster: Cluster, wanted: Wanted) -> RunCarrier:
    try:
        return cluster.on_login("run carrier", CarrierOf(), RunCarrier)
    except AllocationMissing:
        if not wanted.take_node:
            raise
    from scratchflow.flows.up import up

    wait_s = cluster.settings.profile.wait.seconds
    up(cluster.caller, cluster.emit, Hold(wait_s=wait_s), run_editor=False)
    return cluster.on_login("run carrier", CarrierOf(), RunCarrier)


def _become(place: RunPlace, wanted: Wanted) -> None:
    """The command in place of this process: its input, output, signals and exit code are the real ones."""
    directory = os.path.join(place.directory, wanted.cwd)
    if not os.path.isdir(directory):
        raise RunDirectoryMissing(path=directory, node=os.uname().nodename)
    words, sourced = _words(os.environ.get("SHELL") or "/bin/sh", place, wanted)
    argv = replacing_argv(os.fsencode(directory), sourced, words)
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the command would too
    with _not_too_long():
        os.execvp(argv[0], argv)  # noqa: S606 - the point of it is that no shell reads the words


def _words(shell: str, place: RunPlace, wanted: Wanted) -> tuple[list[bytes], bytes]:
    """The command, and the file to source before it. A login shell sources it itself, after its own startup files."""
    if wanted.command:
        return [os.fsencode(word) for word in wanted.command], os.fsencode(place.sourced)
    directory = os.path.join(place.directory, wanted.cwd)
    return [os.fsencode(word) for word in login_shell_argv(shell, directory, place.sourced)], b""


class _Start(msgspec.Struct, frozen=True):
    """What is to be started, and the way there."""

    cluster: Cluster
    login: SharedLogin | None
    found: RunCarrier
    wanted: Wanted

    @property
    def environment(self) -> Mapping[str, str]:
        """That of the program that carries the command."""
        environment = self.cluster.caller.environment
        return command_environment(environment) if self.login is None else environment

    def way(self, carrier: list[str], *, terminal: bool = False) -> Way:
        """How words get to the node of this carrier."""
        outer = self.login.argv(terminal=terminal) if self.login else []
        return Way(outer, carrier, quotes=self.found.quotes)

    def directory(self, place: RunPlace) -> str:
        """Where the command starts."""
        return os.path.join(place.directory, self.wanted.cwd)

    def followed(self, place: RunPlace, token: str) -> list[str]:
        """What the node runs, with lines that say when the command starts and how it ends."""
        words, sourced = self._words(place)
        return followed_argv(token, os.fsencode(self.directory(place)), sourced, words)

    def in_terminal(self, place: RunPlace, token: str = "") -> list[str]:
        """What the node runs in a terminal; with a token, after a line that carries it."""
        words, sourced = self._words(place)
        directory = os.fsencode(self.directory(place))
        return terminal_argv(directory, sourced, words, token=token)

    def _words(self, place: RunPlace) -> tuple[list[bytes], bytes]:
        return _words(self.found.shell[0], place, self.wanted)

    def silent(self, node: str, outcome: Outcome) -> NodeSilent:
        """The error for a command that was never started."""
        reason = _text(outcome) or f"exit code {outcome.carrier_code}"
        return NodeSilent(node=node, job_id=self.found.job_id, reason=reason)


def _require_program(start: _Start, place: RunPlace) -> None:
    """RunProgramMissing when the command cannot be started: once it is left alone, nobody sees that."""
    program, node = start.wanted.command[0], start.found.node
    way, token = start.way(start.found.argv), os.urandom(16).hex()
    words = [b"sh", b"-c", _CAN_START, b"sh", os.fsencode(program)]
    directory, sourced = os.fsencode(start.directory(place)), os.fsencode(place.sourced)
    argv = way.argv(followed_argv(token, directory, sourced, words))
    look = Far(node, argv, token, lambda group, name: way.argv(kill_argv(group, name)))
    with _not_too_long():
        code = carry_all([look], start.environment)[node].code
    if code in _NOT_STARTED:
        raise RunProgramMissing(program=program, node=node, reason=_NOT_STARTED[code])


def _leave(start: _Start, place: RunPlace) -> RunWindow:
    command = start.wanted.command
    _require_program(start, place)
    name = os.path.basename(command[0]) if command else "shell"
    program = "".join(letter for letter in name if letter.isascii() and letter.isalnum())[:20]
    request = RunDetached(argv=tuple(start.in_terminal(place)), program=program or "run")
    return start.cluster.on_login("run detached", request, RunWindow)


class _Foreground:
    """One command with our stdin, stdout and stderr."""

    def __init__(self, start: _Start, place: RunPlace) -> None:
        self._start, self._place = start, place
        self._cluster, self._login, self._found = start.cluster, start.login, start.found

    def code(self) -> int:
        """The exit code of the command."""
        if self._start.wanted.terminal:
            return self._in_terminal()
        outcome = self._followed()
        until = time.monotonic() + _REFUSED_S
        while not outcome.started and is_refused(_text(outcome)) and time.monotonic() < until:
            time.sleep(_AGAIN_S)
            outcome = self._followed()
        return self._meaning(outcome)

    def _followed(self) -> Outcome:
        way = self._start.way(self._found.argv)
        token = os.urandom(16).hex()
        with _not_too_long():
            return carry(
                way.argv(self._start.followed(self._place, token)),
                token,
                kill=lambda group, name: way.argv(kill_argv(group, name)),
                environment=self._start.environment,
                on_start=lambda: self._note(way),
            )

    def _note(self, way: Way) -> None:
        """The next `run` may take the same way without asking."""
        settings, job_id = self._cluster.settings, self._found.job_id
        # Flags that the quick way does not read; and ssh to the node would not notice that the job has ended.
        if self._cluster.caller.asked != Asked() or self._found.quotes:
            return
        if job_id is not None and not self._found.current:
            return  # nobody would notice that another job is worked in by now
        warm = WarmRun(
            config=str(settings.path),
            shared=self._login.shared_path if self._login else "",
            node=self._found.node,
            job_id=str(job_id),
            directory=self._place.directory,
            sourced=self._place.sourced,
            current=self._found.current,
            outer=way.outer,
            carrier=way.carrier,
            quotes=way.quotes,
        )
        write_warm_run(warm, self._cluster.caller.environment)

    def _meaning(self, outcome: Outcome) -> int:
        node = self._found.node
        if outcome.no_directory:
            raise RunDirectoryMissing(path=self._start.directory(self._place), node=node)
        if outcome.code is not None and not outcome.unwritten:
            if is_ended_by_others(outcome) and (ended := self._job_end()):
                self._cluster.emit(ended_with_job(ended))
            return outcome.code
        if outcome.signals:
            killed = outcome.started and len(outcome.signals) > 2
            raise CommandSignalled(signal.SIGKILL if killed else outcome.signals[-1])
        if outcome.unwritten:
            raise OutputFailed(error=outcome.unwritten)
        if outcome.started:
            raise cut_error(outcome, node, self._job_end())
        # What Slurm says of the job is the better reason, when it has ended meanwhile.
        self._cluster.on_login("run carrier", CarrierOf(), RunCarrier)
        raise self._start.silent(node, outcome)

    def _job_end(self) -> str:
        return job_end(self._cluster, self._found.job_id)

    def _in_terminal(self) -> int:
        way = self._start.way(self._found.terminal_argv, terminal=True)
        environment = self._start.environment
        if self._login is None:
            with _not_too_long(), _command_ended():
                return call_in_terminal(way.argv(self._start.in_terminal(self._place)), environment)
        token = os.urandom(16).hex()
        argv = way.argv(self._start.in_terminal(self._place, token))
        with _not_too_long(), _command_ended():
            return self._login.terminal_code(call_in_terminal(argv, environment, token))


class _EveryNode:
    """One command on every node of the job, without input, each line of output with its node's name."""

    def __init__(self, start: _Start, place: RunPlace) -> None:
        for failed in place.failed:  # before anything runs: on all of them or on none
            raise _failed_there(failed)
        self._start = start
        found = start.found
        self._places = {found.node: place, **place.others}
        first = OtherCarrier(node=found.node, argv=found.argv)
        self._carriers = {one.node: one.argv for one in [first, *found.others]}

    def codes(self) -> dict[str, int]:
        """The exit code of each, by node. What was lost, or never started, is an error."""
        outcomes = self._followed(list(self._carriers))
        until = time.monotonic() + _REFUSED_S
        while (again := _not_let_in(outcomes)) and time.monotonic() < until:
            time.sleep(_AGAIN_S)
            outcomes |= self._followed(again)
        return {node: self._meaning(node, outcomes[node]) for node in self._carriers}

    def _followed(self, nodes: list[str]) -> dict[str, Outcome]:
        return carry_all([self._far(node) for node in nodes], self._start.environment)

    def _far(self, node: str) -> Far:
        way = self._start.way(self._carriers[node])
        token = os.urandom(16).hex()
        argv = way.argv(self._start.followed(self._places[node], token))
        return Far(node, argv, token, lambda group, name: way.argv(kill_argv(group, name)))

    def _meaning(self, node: str, outcome: Outcome) -> int:
        if outcome.no_directory:
            raise RunDirectoryMissing(path=self._start.directory(self._places[node]), node=node)
        if outcome.unwritten:
            raise OutputFailed(error=outcome.unwritten)
        if outcome.code is not None:
            return outcome.code
        if outcome.signals:
            return 128 + outcome.signals[-1]
        if outcome.started:
            raise cut_error(outcome, node, job_end(self._start.cluster, self._start.found.job_id))
        raise self._start.silent(node, outcome)


def _failed_there(failed: NodeFailure) -> OtherNodeFailed:
    error = OtherNodeFailed(node=failed.node, reason=failed.message, next_step=failed.hint)
    error.exit_code = failed.exit_code
    return error


def _not_let_in(outcomes: Mapping[str, Outcome]) -> list[str]:
    """The nodes on which Slurm gave the job no step yet."""
    return [
        node
        for node, one in outcomes.items()
        if not one.started and not one.signals and is_refused(_text(one))
    ]


@contextmanager
def _not_too_long() -> Iterator[None]:
    """Around the start of a program: Linux takes 128 KiB for one word, and ssh has one for the whole command."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        problem = (
            "the command is too long to be sent (about 90,000 characters; one that is not ASCII counts as 2 to 4): "
            "give it on its input, or in a file of the workspace"
        )
        raise UsageInvalid(problem=problem, command="scratchflow run") from None


@contextmanager
def _command_ended() -> Iterator[None]:
    """Around a command in a terminal: a signal that ends us ends something of the user's."""
    try:
        yield
    except Interrupted as interrupted:
        raise CommandSignalled(interrupted.signum) from None


def _text(outcome: Outcome) -> str:
    return last_line(outcome.noise)
