"""`mirror keep`: sends each new snapshot to the mirror, in the background, on the login host.

It is started after whatever takes snapshots, and goes on while an auto-backup lives: nodes cannot start anything on the login
host, so it looks into the store. When the mirror has everything, and nobody takes snapshots any more, it ends. Backups
never wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.store import StoreLocked
from scratchflow.model.requests import DryRun, Nothing
from scratchflow.model.results.transfer import MirrorKept
from scratchflow.node.context import NodeContext
from scratchflow.node.mirror.send import mirror_snapshots
from scratchflow.node.progress import Notifier
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import (
    FILE_MODE,
    StoreDirectory,
    find_place,
    make_private_directory,
)
from scratchflow.store.failures import store_errors
from scratchflow.store.heartbeats import Pulses, read_heartbeats
from scratchflow.store.identity import read_store_id
from scratchflow.store.mirror import has_unsent, mirror_place, not_there, read_state

_LOOK_S = 15.0
# After a failure: soon, then less and less often.
_FIRST_PAUSE_S = 30.0
_LONGEST_PAUSE_S = 900.0
# How often a mirror that fails is tried when no auto-backup runs: for about an hour.
_TRIES = 8
_KEEPER_NAME = "keeper"
_WANTED_NAME = "wanted.json"


class Wanted(msgspec.Struct, frozen=True):
    """Which mirror is meant now: the profile may change while the process runs."""

    mirror: str
    rclone: str = ""


def keep_mirrored(
    context: NodeContext,
    notify: Notifier,
    _: Nothing,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> MirrorKept:
    """Returns when there is nothing to do any more, or when another one does it. Makes no store: one that is gone stays gone."""
    place = find_place(context.store, context.workspace.name)
    if read_store_id(place) is None:
        return MirrorKept(runs=0)
    keeper = StoreDirectory(mirror_place(place).directory / _KEEPER_NAME)
    with store_errors(keeper.directory):
        make_private_directory(keeper.directory)
        options = context.profile.backup
        wanted = Wanted(options.mirror, options.rclone)
        replace_file(keeper.directory / _WANTED_NAME, msgspec.json.encode(wanted), mode=FILE_MODE)
    keeping = _Keeping(context, notify, place, keeper, sleep)
    while True:
        try:
            with context.lock(keeper, "scratchflow, which keeps the mirror", wait_s=0):
                keeping.until_nothing_is_left()
        except StoreLocked:
            break  # what was saved just now is seen by the one that runs
        # A snapshot that came since the last look found us still there, and started nobody else.
        if keeping.gave_up or not keeping.is_behind():
            break
    return MirrorKept(runs=keeping.runs)


class _Keeping:
    """The rounds of one process."""

    def __init__(
        self,
        context: NodeContext,
        notify: Notifier,
        place: StoreDirectory,
        keeper: StoreDirectory,
        sleep: Callable[[float], None],
    ) -> None:
        self._context, self._notify = context, notify
        self._place, self._keeper = place, keeper
        self._sleep = sleep
        self._pulses = Pulses()
        self._failures = 0
        self.runs = 0
        self.gave_up = False

    def until_nothing_is_left(self) -> None:
        """Sends, waits, and looks again."""
        while True:
            self._follow_settings()
            if self.is_behind():
                self._send()
            else:
                self._failures = 0
            if self._failures:
                if self._failures >= _TRIES and not self._somebody_saves():
                    self.gave_up = True
                    return
                self._sleep(min(_FIRST_PAUSE_S * 2 ** (self._failures - 1), _LONGEST_PAUSE_S))
            elif self._somebody_saves():
                self._sleep(_LOOK_S)
            elif not self.is_behind():
                return

    def is_behind(self) -> bool:
        """Whether a snapshot is not on the mirror as far as is known, and could be sent."""
        mirror = self._context.profile.backup.mirror
        try:
            state = read_state(self._place, mirror)
            if not mirror or not has_unsent(self._place, state):
                return False
            return bool(not_there(state, read_catalogue(self._place)))
        except ScratchflowError:  # the store is away: nothing can be sent
            return False

    def _send(self) -> None:
        self.runs += 1
        try:
            done = mirror_snapshots(self._context, self._notify, DryRun())
            # What cannot be sent is no reason to try at once again.
            self._failures = self._failures + 1 if done.damaged or done.blocked else 0
        except ScratchflowError:  # noted in the store, for `status`
            self._failures += 1

    def _somebody_saves(self) -> bool:
        """Whether an auto-backup of this workspace lives."""
        now_s, monotonic_s = time.time(), time.monotonic()
        return any(
            self._pulses.is_alive(one, now_s, monotonic_s)
            for one in read_heartbeats(self._place)
            if one.phase != "ended"
        )

    def _follow_settings(self) -> None:
        """Takes over which mirror the last one who started us named."""
        try:
            content = (self._keeper.directory / _WANTED_NAME).read_bytes()
            wanted = msgspec.json.decode(content, type=Wanted)
        except (OSError, msgspec.DecodeError):
            return
        options = self._context.profile.backup
        if wanted == Wanted(options.mirror, options.rclone):
            return
        self._failures = 0
        changed = msgspec.structs.replace(options, mirror=wanted.mirror, rclone=wanted.rclone)
        profile = msgspec.structs.replace(self._context.profile, backup=changed)
        settings = msgspec.structs.replace(self._context.settings, profile=profile)
        self._context = msgspec.structs.replace(self._context, settings=settings)
