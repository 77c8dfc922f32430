"""The agent on the cluster while nobody has agreed to anything: it goes again, unless it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scratchflow.agent.delivery.install import Installed, end_trial
from scratchflow.config.settings import Settings
from scratchflow.model.errors.agent import LoginShellUnusable
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.events import Checked, Emit, Log, Warned
from scratchflow.model.text import printable
from scratchflow.reach.installing import install_for
from scratchflow.ssh.transport.base import Transport


class TrialAgent:
    """An agent that answers, and how to keep it."""

    def __init__(self, settings: Settings, transport: Transport, emit: Emit) -> None:
        self._settings = settings
        self._transport = transport
        self._emit = emit
        self.is_kept = False
        self.installed: Installed = install_for(settings, transport, emit, on_trial=True)

    def keep(self) -> None:
        """From now on it stays. One that another laptop took away meanwhile is brought again."""
        install_for(self._settings, self._transport, self._emit)
        self.is_kept = True


@contextmanager
def agent_on_trial(
    settings: Settings, transport: Transport, emit: Emit, detail_if_new: str
) -> Iterator[TrialAgent]:
    """Whatever ends this before `keep`, a Ctrl-C included, takes away what this run brought.

    An agent that was there before stays: only one on trial is marked as that, over there.
    `detail_if_new` is what to say of one that was brought.
    """
    trial: TrialAgent | None = None
    may_be_there = True
    try:
        trial = TrialAgent(settings, transport, emit)
        detail = "already there" if trial.installed.was_there else detail_if_new
        emit(Checked(name="agent", ok=True, detail=detail))
        yield trial
    except LoginShellUnusable:
        may_be_there = trial is not None
        raise
    finally:
        if may_be_there and (trial is None or not trial.is_kept):
            _end(settings.profile.login, transport, emit)


def _end(login: str, transport: Transport, emit: Emit) -> None:
    """Says what became of it, and never hides why the set-up ended."""
    try:
        if end_trial(transport):
            message = f"the agent is gone from `{printable(login)}` again"
            emit(Log(level="info", message=message))
    except ScratchflowError as error:
        remedy = f"`scratchflow setup {printable(login)} --remove` removes it"
        message = f"the agent may still be on `{printable(login)}` ({error}); {remedy}"
        emit(Warned(code="agent.left", message=message))
