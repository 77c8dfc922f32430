"""`salloc` in our tmux window, and the shell on the node that takes its place there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from scratchflow.cluster.slurm.request import (
    job_of_command,
    shell_on_node_argv,
    until_job_runs,
)
from scratchflow.cluster.slurm.salloc import STOP_S
from scratchflow.cluster.tmux.server import Pane, Tmux, then_detach
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.process.waiting import looks

NEXT_SHELL_S = 10
"""How long a terminal whose job has ended waits for a shell on another node."""

_SIGNALLED = 128
_GONE = 129  # as if by the hang-up that a closed window sends

# tmux closes the terminal of a command that ends at once before it has read all of it: about one in
# a hundred refusals on a busy host comes without a word. Asked again, Slurm refuses again.
_TRIES = 4


class WindowHolder:
    """A Holder whose `salloc` the user can watch: it runs in the profile's window `node`.

    With `hold = "tmux"` the job lives as long as that window. With `hold = "detached"` the window may
    go at any time after the grant. It must run on the host of the tmux server.

    There is one such window: a start ends what runs in it, a request of another run too. Look for
    the profile's jobs first, and `resume` one that waits.
    """

    def __init__(self, tmux: Tmux, profile: str, session: str) -> None:
        self._tmux = tmux
        self._profile = profile
        self._session = session
        self._pane: Pane | None = None
        self._argv: Sequence[str] = ()
        self._tries_left = 0

    def start(self, argv: Sequence[str]) -> None:
        self._argv, self._tries_left = argv, _TRIES - 1
        self._pane = self._tmux.start(self._profile, self._session, argv)

    def said(self) -> str:
        if self._pane is None:
            return ""
        try:
            return self._tmux.text(self._pane)
        except TmuxFailed:
            return ""  # the window is gone, and its words with it; Slurm knows the rest

    def exit_code(self) -> int | None:
        if self._pane is None:
            return None
        now = self._tmux.pane_with_id(self._pane.pane_id)
        if now is None:
            return _GONE
        if now.dead and self._lost_its_words(now):
            self._tries_left -= 1
            self._tmux.restart(now, self._argv)
            return None
        return _SIGNALLED if now.dead and now.exit_code is None else now.exit_code

    def _lost_its_words(self, pane: Pane) -> bool:
        """Whether it failed by itself (not by a signal) and nothing of it is left to read."""
        failed = pane.exit_code not in {None, 0}
        return failed and self._tries_left > 0 and not _words(self._tmux.text(pane))

    def stop(self) -> None:
        """Closes the window. `salloc` is hung up by that, and withdraws a request that waits."""
        if self._pane is None:
            return
        # Whatever tmux says, the caller goes on to ask Slurm for what is left.
        with suppress(TmuxFailed):
            now = self._tmux.pane_with_id(self._pane.pane_id)
            self._tmux.kill_pane(self._pane.pane_id)
            if now is not None and not now.dead:
                _end(now.pid)
        self._pane = None

    def leave(self) -> None:
        """Does nothing: it is not a process of ours."""


def _words(text: str) -> str:
    return "".join(line for line in text.splitlines() if not line.startswith("Pane is dead"))


def _end(pid: int) -> None:
    """Waits until the process is gone, and kills it if it will not go."""
    for _ in looks(STOP_S, 0.05):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class NodeShell(msgspec.Struct, frozen=True):
    """The shell that a window shows: its command on the node, and what steps can do on this cluster."""

    argv: Sequence[str]
    overlap: bool = True
    binding: bool = True


def show_node(
    tmux: Tmux,
    profile: str,
    session: str,
    allocation: RunningAllocation,
    shell: NodeShell,
    *,
    renew_unused: bool = False,
    has_ended: Callable[[int | str], bool] = lambda _: False,
) -> Pane:
    """Puts a shell on the node into the window, unless something runs there already.

    For `hold = "detached"`: after the grant, and whenever the session or its shell was lost. With
    `renew_unused` also in place of one that was started before the workspace was there. `has_ended` is asked
    of the job, by its number or name, whose shell is there: Slurm may take a minute to kill it.
    """
    argv = shell_on_node_argv(
        allocation.job_id,
        allocation.node,
        shell.argv,
        overlap=shell.overlap,
        binding=shell.binding,
    )
    # A job that ended may be one that `hop` left, which puts the next node's shell here.
    shown = then_detach(argv, until_job_runs(allocation.job_id, NEXT_SHELL_S))
    return tmux.ensure(
        profile, session, shown, renew_unused=renew_unused, is_over=of_an_ended_job(has_ended)
    )


def of_an_ended_job(has_ended: Callable[[int | str], bool]) -> Callable[[str], bool]:
    """Says of a command in our window whether it belongs to a job that has ended."""

    def is_over(command: str) -> bool:
        job = job_of_command(command)
        return job is not None and has_ended(job)

    return is_over
