"""What `run` is to start, and the way of its words to the node."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from scratchflow.cluster.command import command_environment
from scratchflow.cluster.slurm.request import login_shell_argv
from scratchflow.dispatch.cluster import Cluster
from scratchflow.model.errors.allocation import NodeSilent
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.results.run import RunCarrier, RunPlace
from scratchflow.model.text import last_line
from scratchflow.process.carried import Outcome
from scratchflow.process.far_words import Way, followed_argv, terminal_argv
from scratchflow.reach.login import SharedLogin

REFUSED_S, AGAIN_S = 20.0, 1.0
"""How long, and how often, it is tried again where Slurm gives the job no step yet."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is to run; an empty command is the user's login shell."""

    command: tuple[str, ...] = ()
    cwd: str = ""
    terminal: bool = False
    detach: bool = False
    take_node: bool = False
    every_node: bool = False


def words_of(shell: str, place: RunPlace, wanted: Wanted) -> tuple[list[bytes], bytes]:
    """The command, and the file to source before it. A login shell sources it itself, after its own startup files."""
    if wanted.command:
        return [os.fsencode(word) for word in wanted.command], os.fsencode(place.sourced)
    directory = os.path.join(place.directory, wanted.cwd)
    return [os.fsencode(word) for word in login_shell_argv(shell, directory, place.sourced)], b""


class Start(msgspec.Struct, frozen=True):
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
        """What the node runs in a terminal; with a token, between two lines that carry it."""
        words, sourced = self._words(place)
        directory = os.fsencode(self.directory(place))
        return terminal_argv(directory, sourced, words, token=token)

    def _words(self, place: RunPlace) -> tuple[list[bytes], bytes]:
        return words_of(self.found.shell[0], place, self.wanted)

    def silent(self, node: str, outcome: Outcome) -> NodeSilent:
        """The error for a command that was never started."""
        reason = last_words(outcome) or f"exit code {outcome.carrier_code}"
        return NodeSilent(node=node, job_id=self.found.job_id, reason=reason)


@contextmanager
def not_too_long() -> Iterator[None]:
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


def last_words(outcome: Outcome) -> str:
    """The last line of what was said before the command started."""
    return last_line(outcome.noise)
