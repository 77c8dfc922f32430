"""A command of `run` with our stdin, stdout and stderr, or with our terminal."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from scratchflow.cluster.slurm.step_refused import is_refused
from scratchflow.config.settings import Asked
from scratchflow.config.warm_run import WarmRun, write_warm_run
from scratchflow.flows.run.ended import (
    COMMAND,
    cut_error,
    cut_in_terminal,
    ended_with_job,
    is_ended_by_others,
    job_end,
)
from scratchflow.flows.run.start import AGAIN_S, REFUSED_S, Start, last_words, not_too_long
from scratchflow.model.errors.base import OutputFailed
from scratchflow.model.errors.run import CommandSignalled, RunDirectoryMissing
from scratchflow.model.requests import CarrierOf
from scratchflow.model.results.run import RunCarrier, RunPlace
from scratchflow.process.carried import Outcome, carry
from scratchflow.process.far_words import Way, kill_argv
from scratchflow.process.in_terminal import TerminalEnd, call_in_terminal, leave_line
from scratchflow.process.interrupted import Interrupted

# How a command in a terminal ends with its job: Slurm sends SIGTERM and SIGKILL, and the terminal that goes is a hang-up.
_ENDED_IN_TERMINAL = {128 + one for one in (signal.SIGHUP, signal.SIGKILL, signal.SIGTERM)}

# What `srun` and ssh exit with when they lose the node; a command may do so, too.
_CARRIERS_OWN = {0, 255}


class Foreground:
    """One command with our stdin, stdout and stderr."""

    def __init__(self, start: Start, place: RunPlace) -> None:
        self._start, self._place = start, place
        self._cluster, self._login, self._found = start.cluster, start.login, start.found

    def code(self) -> int:
        """The exit code of the command."""
        if self._start.wanted.terminal:
            return self._in_terminal()
        outcome = self._followed()
        until = time.monotonic() + REFUSED_S
        while not outcome.started and is_refused(last_words(outcome)) and time.monotonic() < until:
            time.sleep(AGAIN_S)
            outcome = self._followed()
        return self._meaning(outcome)

    def _followed(self) -> Outcome:
        way = self._start.way(self._found.argv)
        token = os.urandom(16).hex()
        with not_too_long():
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
        end = self._terminal_end()
        what = COMMAND if self._start.wanted.command else "the shell"
        if end.code in _CARRIERS_OWN and not end.is_heard:
            self._require_end(end, what)
        elif end.code in _ENDED_IN_TERMINAL and (ended := self._job_end()):
            self._cluster.emit(ended_with_job(ended, what, how=""))
        return end.code

    def _require_end(self, end: TerminalEnd, what: str) -> None:
        """RunCut where the code is not the command's."""
        ended = self._job_end()
        if ended or end.is_heard is False:
            leave_line()
            raise cut_in_terminal(self._found.node, what, ended)

    def _terminal_end(self) -> TerminalEnd:
        way = self._start.way(self._found.terminal_argv, terminal=True)
        environment = self._start.environment
        if self._login is None:
            with not_too_long(), _command_ended():
                return call_in_terminal(way.argv(self._start.in_terminal(self._place)), environment)
        token = os.urandom(16).hex()
        argv = way.argv(self._start.in_terminal(self._place, token))
        with not_too_long(), _command_ended():
            end = call_in_terminal(argv, environment, token)
            return TerminalEnd(self._login.terminal_code(end.code), end.is_heard)


@contextmanager
def _command_ended() -> Iterator[None]:
    """Around a command in a terminal: a signal that ends us ends something of the user's."""
    try:
        yield
    except Interrupted as interrupted:
        raise CommandSignalled(interrupted.signum) from None
