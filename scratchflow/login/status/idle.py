"""For one who watches for hours: manifests are read again only when their directory changed, Slurm is asked seldom
while nothing happens, and what another command leaves on disk is seen at once all the same."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from scratchflow.login.host import LoginHost
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.results.status import StatusShown
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.workspace.workspace import expand

IDLE_S = 60.0
"""How often Slurm and tmux are asked while a node is held, or none is wanted."""
NEAR_END_S = 15 * 60
# An archive that is cut short leaves its directory as it was.
_AGAIN_AFTER_S = 600.0
# A directory that changed this recently may change once more within the same tick of its clock.
_SETTLED_S = 5.0

Stamps = tuple[int, ...]


class KnownCatalogue:
    """The snapshots of a place, read again when its directory has changed, and every ten minutes."""

    def __init__(self) -> None:
        self._known: Catalogue | None = None
        self._of: tuple[Path, int] | None = None
        self._at_s = 0.0

    def read(self, place: StoreDirectory) -> Catalogue:
        changed_ns = _stamp(place.directory)  # before the reading: a later change is seen next time
        of = (place.directory, changed_ns)
        is_young = time.monotonic() - self._at_s < _AGAIN_AFTER_S
        if self._known is not None and of == self._of and is_young:
            return self._known
        found = read_catalogue(place)
        is_settled = 0 < changed_ns < time.time_ns() - int(_SETTLED_S * 1e9)
        self._known, self._of = (found, of) if is_settled else (None, None)
        self._at_s = time.monotonic()
        return found


def is_idle(shown: StatusShown) -> bool:
    """Whether nothing is on its way: a node is held with time left, or none is asked for."""
    held = shown.allocation
    if held is None:
        return True
    left_s = held.seconds_left
    return held.state == "running" and (left_s is None or left_s > NEAR_END_S)


def pause(
    signs: Callable[[], Stamps], every_s: float, *, idle: bool, clock: Clock = SYSTEM_CLOCK
) -> None:
    """Until the next look: `every_s`, or when idle a minute, unless a sign of another command comes first."""
    before = signs()
    until = clock.monotonic() + (max(every_s, IDLE_S) if idle else every_s)
    while (left_s := until - clock.monotonic()) > 0:
        clock.sleep(min(every_s, left_s))
        if signs() != before:
            return


def signs_of(login: LoginHost) -> Stamps:
    """When a backup, a restore, a grant or a release last left something: a few `stat`, no Slurm and no tmux."""
    from scratchflow.cluster.tmux.host import note_path as session_note
    from scratchflow.workspace.current_job import note_path as job_note

    profile, home = login.profile, login.home
    watched = [session_note(home, login.settings.name), job_note(home, login.settings.name)]
    try:
        place = find_place(expand(profile.store, login.environment), profile.workspace)
        watched += [place.directory, place.nodes]
    except ScratchflowError:
        pass
    return tuple(_stamp(path) for path in watched)


def _stamp(path: Path) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
