"""Profiles that could not be synced while others were: each is named, with its error and the command for later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from scratchflow.model.errors.agent import AgentSilent
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.ssh import CommandTimedOut, ConnectionLost
from scratchflow.model.errors.sync import SyncBusy, SyncNotConfigured
from scratchflow.model.events import Emit, Warned
from scratchflow.model.results.base import ProfileFailure
from scratchflow.model.text import printable

AWAY = (ConnectionLost, CommandTimedOut, AgentSilent, SyncBusy)
"""What passes by itself."""
_AWAY_CODES = frozenset(kind.exit_code for kind in AWAY)
_CONFIGURATION = SyncNotConfigured.exit_code


def all_away(failed: Sequence[ProfileFailure]) -> bool:
    """Whether trying again later may help with each, without a decision of the user."""
    return all(one.exit_code in _AWAY_CODES for one in failed)


class _Failed(msgspec.Struct, frozen=True):
    login: str
    error: ScratchflowError


class Failures:
    """Collects them, and tells each at once. `later` makes the step that syncs a profile later.

    When there is `only_one` to sync with, its error ends the sync.
    """

    def __init__(self, later: Callable[[str], str], emit: Emit, *, only_one: bool) -> None:
        self._later, self._emit, self._only_one = later, emit, only_one
        self._failed: dict[str, _Failed] = {}

    @contextmanager
    def reaching(self, name: str, login: str) -> Iterator[None]:
        """Whatever ends it is kept as this profile's, but for a mistake in the configuration: nothing is synced then."""
        try:
            yield
        except EndedBySignal:
            raise
        except ScratchflowError as error:
            if error.exit_code == _CONFIGURATION:
                raise
            self._keep(name, login, error)

    @contextmanager
    def syncing(
        self, name: str, login: str, is_of_first: Callable[[ScratchflowError], bool]
    ) -> Iterator[None]:
        """Keeps it as this profile's when its login host went away meanwhile; without the first, nothing can go on."""
        try:
            yield
        except AWAY as error:
            if is_of_first(error):
                raise
            self._keep(name, login, error)

    def require(self, *, some_are_left: bool) -> None:
        """Raises what went wrong with the first of them when nobody is left to sync with."""
        if self._failed and not some_are_left:
            raise next(iter(self._failed.values())).error

    def shown(self) -> list[ProfileFailure]:
        """In the order in which they failed."""
        return [self._shown(name, one) for name, one in self._failed.items()]

    def _keep(self, name: str, login: str, error: ScratchflowError) -> None:
        if self._only_one:
            raise error
        self._failed[name] = _Failed(login, error)
        message = f"`{printable(name)}` is not synced: {error}"
        self._emit(Warned(code=error.code, message=message))

    def _shown(self, name: str, failed: _Failed) -> ProfileFailure:
        error = failed.error
        return ProfileFailure(
            profile=name,
            login=failed.login,
            code=error.code,
            message=str(error),
            hint=f"{error.shown_hint}; {self._later(name)}",
            exit_code=error.exit_code,
        )
