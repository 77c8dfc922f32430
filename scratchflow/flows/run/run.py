"""`run` and `shell`: a command on the node, with this terminal's input and output."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of, is_here, is_login_host
from scratchflow.flows.current_work import behind_warning
from scratchflow.flows.run.detached import leave
from scratchflow.flows.run.every_node import EveryNode
from scratchflow.flows.run.foreground import Foreground
from scratchflow.flows.run.start import Start, Wanted, not_too_long, words_of
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.run import RunDirectoryMissing
from scratchflow.model.events import Emit, Progress
from scratchflow.model.requests import EVERY_NODE, CarrierOf, Hold, RunAt
from scratchflow.model.results.run import RunCarrier, RunEnded, RunPlace
from scratchflow.process.far_words import replacing_argv
from scratchflow.reach.login import SharedLogin, share_login
from scratchflow.report.question import question_open


def run(caller: Caller, emit: Emit, wanted: Wanted) -> RunEnded:
    """Runs it in a step of the job until it ends. On the node itself it takes the place of this process."""
    settings = caller.settings()
    for_shell = not wanted.command
    is_elsewhere = wanted.detach or wanted.every_node
    if not is_elsewhere and is_here(settings, caller.environment):
        with cluster_of(settings, caller, emit) as cluster:
            asked = RunAt(_whole_path(wanted), for_shell=for_shell)
            place = cluster.at_workspace("run place", asked, RunPlace)
        _warn_if_behind(place, emit)
        with question_open(emit):  # the terminal is the command's now
            _become(place, wanted)
    if wanted.terminal:
        _require_terminal(wanted)
        emit(Progress(phase="connecting to the node"))
    with _reached(caller, emit) as login, cluster_of(settings, caller, emit) as cluster:
        found = _carrier(cluster, wanted)
        # Of a command that nobody watches, nobody would see that its directory is not there.
        cwd = os.fsencode(wanted.cwd) if wanted.detach else _whole_path(wanted)
        asked = RunAt(cwd, for_shell=for_shell)
        node = EVERY_NODE if wanted.every_node else ""
        place = cluster.at_workspace("run place", asked, RunPlace, job_id=found.job_id, node=node)
        _warn_if_behind(place, emit)
        start = Start(cluster, login, found, wanted)
        if wanted.every_node:
            with question_open(emit):
                codes = EveryNode(start, place).codes()
            code = next((one for one in codes.values() if one), 0)
            return RunEnded(node=found.node, job_id=found.job_id, code=code, codes=codes)
        if wanted.detach:
            window = leave(start, place)
            return RunEnded(node=found.node, job_id=found.job_id, window=window)
        with question_open(emit):  # the terminal is the command's now
            code = Foreground(start, place).code()
    return RunEnded(node=found.node, job_id=found.job_id, code=code)


def _whole_path(wanted: Wanted) -> bytes:
    """The directory, when it is no part of the workspace."""
    return os.fsencode(wanted.cwd) if os.path.isabs(wanted.cwd) else b""


def _warn_if_behind(place: RunPlace, emit: Emit) -> None:
    """Of a copy that is not the newest work: whoever reads a file there should know. The command runs all the same."""
    if place.newest:
        emit(behind_warning(place.base, place.newest, is_old=place.is_old))


def _require_terminal(wanted: Wanted) -> None:
    """A terminal on the node has no end of input: without one here, the command would wait for ever."""
    if os.isatty(0):
        return
    if wanted.command:
        problem = "`--pty` needs a terminal as its input, and this is none; leave it out here"
        raise UsageInvalid(problem=problem, command="scratchflow run")
    problem = "`shell` needs a terminal as its input, and this is none; `scratchflow run -- bash -l` does without"
    raise UsageInvalid(problem=problem, command="scratchflow shell")


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
    words, sourced = words_of(os.environ.get("SHELL") or "/bin/sh", place, wanted)
    argv = replacing_argv(os.fsencode(directory), sourced, words)
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the command would too
    with not_too_long():
        os.execvp(argv[0], argv)  # noqa: S606 - the point of it is that no shell reads the words
