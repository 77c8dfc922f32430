"""The daily check of the auto-backup: one old snapshot is read back, by a process of lowest priority.

It takes no lock, and a backup that is due does not wait for it: both run. It ends with the loop.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from scratchflow.archive.workers.fork import end_helper, fork_helper
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.snapshot import Manifest
from scratchflow.node.context import NodeContext
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.progress import Notifier
from scratchflow.store.catalogue import Catalogue, needed_archives, read_catalogue
from scratchflow.store.checks.verified import (
    Verification,
    forget_verified,
    read_verified,
    verified_at,
)
from scratchflow.store.directory import StoreDirectory

DAY_S = 86400.0
# Not in the first minutes of a job, which belong to the user's own start.
FIRST_LOOK_S = 300.0
_LOOK_AGAIN_S = 3600.0
_NICER = 19
_STDERR = 2


def choose(
    catalogue: Catalogue, known: dict[str, Verification], now_s: float
) -> tuple[Manifest | None, float]:
    """The snapshot that was verified longest ago, if it is time; else how long until then.

    One a day: the newest record says when the last check was, whoever made it.
    """
    ages = [verified_at(one, known, now_s) for one in catalogue.snapshots if one.id in known]
    last_s = max((read_s for read_s in ages if read_s is not None), default=None)
    if last_s is not None and now_s - last_s < DAY_S:
        return None, DAY_S - (now_s - last_s)
    when = {one.id: verified_at(one, known, now_s) or 0.0 for one in catalogue.snapshots}
    old = [one for one in catalogue.snapshots if now_s - when[one.id] >= DAY_S]
    return min(old, key=lambda one: (when[one.id], one.id), default=None), _LOOK_AGAIN_S


class Scrub:
    """The check of one loop: at most one at a time."""

    def __init__(
        self, context: NodeContext, place: StoreDirectory, say: Callable[[str], None]
    ) -> None:
        self._context = context
        self._place = place
        self._say = say
        self._process: int | None = None
        self._snapshot = ""
        self._before: Verification | None = None
        self._look_at_s = time.monotonic() + FIRST_LOOK_S
        self.damaged: list[str] = []

    def tend(self) -> None:
        """Starts a check when it is time, and reports one that has ended. Never waits."""
        if self._process is not None:
            self._look_after(self._process)
        elif time.monotonic() >= self._look_at_s:
            self._start_if_due()

    def stop(self) -> None:
        """Ends a check that is under way; it begins anew another day."""
        if self._process is not None:
            end_helper(self._process)
            self._process = None

    def _start_if_due(self) -> None:
        self._look_at_s = time.monotonic() + _LOOK_AGAIN_S
        try:
            catalogue = read_catalogue(self._place)
        except ScratchflowError as error:
            self._say(f"no snapshot could be checked: {error}")
            return
        known = read_verified(self._place)
        chosen, wait_s = choose(catalogue, known, time.time())
        if chosen is None:
            self._look_at_s = time.monotonic() + wait_s
            return
        self._snapshot, self._before = chosen.id, known.get(chosen.id)
        with suppress(OSError):  # no process to be had: another time
            self._process = fork_helper(self._verify, {_STDERR})

    def _verify(self) -> None:
        with suppress(OSError):
            os.nice(_NICER)
        verify_snapshots(self._context, Notifier(lambda _: None), [self._snapshot])

    def _look_after(self, process: int) -> None:
        try:
            ended, _ = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            ended = process
        if ended:
            self._process = None
            self._report()

    def _report(self) -> None:
        """What the check noted in the store; what was pruned meanwhile is no matter."""
        known = read_verified(self._place)
        try:
            listed = read_catalogue(self._place).snapshots
        except ScratchflowError:
            return
        present = {one.id for one in listed}
        # Of an archive whose snapshot is gone, others may read: that it is damaged is not forgotten.
        needed = {archive for one in listed for archive in needed_archives(one)}
        forget_verified(self._place, known.keys() - needed)
        damaged = (one for one in known.values() if one.problem and not one.is_doubtful)
        self.damaged = sorted(one.snapshot for one in damaged if one.snapshot in present)
        found = known.get(self._snapshot)
        if found is None or found == self._before:
            self._say(f"the check of snapshot {self._snapshot} did not finish")
        elif found.problem and self._snapshot in present:
            self._say(f"snapshot {self._snapshot} is damaged: {found.problem}")
        elif self._snapshot in present:
            self._say(f"snapshot {self._snapshot} was read back and is sound")
