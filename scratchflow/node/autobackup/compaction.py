"""What `snapshots prune` does with archives of which little is needed, done by the auto-backup in small rounds.

A process of lowest priority does it, between two backups. A backup that is due, and the end of the job, end it: what it was
writing is then removed by that backup, which finds that the holder of the lock is dead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from scratchflow.archive.workers.fork import end_helper, fork_helper
from scratchflow.model.text import counted
from scratchflow.model.units import format_size
from scratchflow.node.context import NodeContext
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.retention.compact import CompactionPlan, compact, plan_compaction

# Not in the first minutes of a job, which belong to the user's own start.
FIRST_LOOK_S = 300.0
# With less time before the next backup, or before the end of the job, a round is not begun.
LEAST_WAIT_S = 60.0
LAST_MINUTES_S = 600.0
# As much as one round writes, and one archive more: so long others may have to wait for the lock.
ROUND_BYTES = 256 << 20
_NEXT_ROUND_S = 60.0
_TRY_AGAIN_S = 3600.0
_NICER = 19
_STDERR = 2
_NOTHING_TO_DO = 0  # exit codes of a round
_DID_SOMETHING = 3


class Compaction:
    """The rounds of one loop: at most one at a time."""

    def __init__(
        self, context: NodeContext, place: StoreDirectory, say: Callable[[str], None]
    ) -> None:
        self._context = context
        self._place = place
        self._say = say
        self._process: int | None = None
        self._look_at_s: float | None = time.monotonic() + FIRST_LOOK_S

    def look_again(self) -> None:
        """Snapshots were removed: there may be something to do."""
        self._look_at_s = time.monotonic()

    def tend(self, wait_s: float, left_s: float | None) -> None:
        """Starts a round when there may be something to do, and enough time. Never waits.

        `wait_s` is the time until the next backup, `left_s` that until the end of the job, if it has one.
        """
        if self._process is not None:
            self._look_after(self._process)
            return
        has_time = wait_s >= LEAST_WAIT_S and (left_s is None or left_s >= LAST_MINUTES_S)
        if has_time and self._look_at_s is not None and time.monotonic() >= self._look_at_s:
            self._look_at_s = time.monotonic() + _TRY_AGAIN_S
            with suppress(OSError):  # no process to be had: another time
                self._process = fork_helper(self._round, {_STDERR})

    def stop(self) -> None:
        """Ends a round that is under way; it begins anew later."""
        if self._process is not None:
            end_helper(self._process)
            self._process = None
            self._look_at_s = time.monotonic() + _NEXT_ROUND_S

    def _round(self) -> None:
        """In a process of its own: what it did is its exit code."""
        with suppress(OSError):
            os.nice(_NICER)
        plan = plan_compaction(self._place)
        if plan.work:
            # Somebody else may have the lock: then it is tried again in an hour, with another exit code.
            os._exit(_DID_SOMETHING if self._compact(plan) else 1)

    def _compact(self, plan: CompactionPlan) -> bool:
        doing = "scratchflow autobackup"
        with self._context.lock(self._place, doing, wait_s=0) as lock:
            done = compact(lock, plan, ROUND_BYTES)
        if done.archives:
            archives = counted(len(done.archives), "archive")
            self._say(f"{format_size(done.freed_bytes)} freed in {archives} of removed snapshots")
        return bool(done.archives)

    def _look_after(self, process: int) -> None:
        try:
            ended, status = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            ended, status = process, 1
        if not ended:
            return
        self._process = None
        code = os.waitstatus_to_exitcode(status)
        if code == _DID_SOMETHING:
            self._look_at_s = time.monotonic() + _NEXT_ROUND_S
        elif code == _NOTHING_TO_DO:
            self._look_at_s = None
