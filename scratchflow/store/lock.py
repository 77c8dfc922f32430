"""The lock of a place: one writer at a time, and a dead one is taken over.

The promise: two runs that both act within their heartbeats never hold the lock together. A run
that was stopped (a suspended machine, a mount that hung) for longer than `stale_after_s` may be
taken over while it still lives; it finds out in `assert_held`, which every commit asks last.
Heartbeats are wall-clock times, so the clocks of the nodes must agree within a few minutes, as
Slurm's own credentials ask of them. Names in the store are never reused, so that even a lock lost
unnoticed costs no earlier snapshot.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from types import TracebackType

import msgspec

from scratchflow.model.errors import LockLost, StoreLocked
from scratchflow.model.units import format_duration
from scratchflow.store.failures import store_errors
from scratchflow.store.lock_chain import (
    Head,
    claim,
    make_lock_directory,
    read_head,
    set_aside,
)
from scratchflow.store.owner import Owner, Process, is_proven_dead
from scratchflow.store.place import Place


class LockTiming(msgspec.Struct, frozen=True):
    """How long silence lasts before it means death."""

    heartbeat_s: float = 30
    stale_after_s: float = 300
    # A lock without an owner file: its maker was killed within the few milliseconds between.
    half_made_after_s: float = 60
    # An owner whose job is known to be over: two beats missed, in case it outlived its job.
    job_over_after_s: float = 65
    poll_s: float = 1


class Clock(msgspec.Struct, frozen=True):
    """Time as it comes in: wall clock for heartbeats, monotonic for waiting."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class StoreLock:
    """`with StoreLock(…).acquired(wait_s=60) as lock:` holds the place; see the module's promise."""

    def __init__(
        self,
        place: Place,
        process: Process,
        *,
        token: str,
        doing: str,
        job_id: int | None = None,
        is_job_over: Callable[[int], bool] = lambda _: False,
        timing: LockTiming = LockTiming(),  # noqa: B008 - frozen
        clock: Clock = Clock(),  # noqa: B008 - frozen
    ) -> None:
        """`token`: 32 random hex digits, new for each lock. `doing`: the verb, for other users' eyes.

        `is_job_over` says of a job's number whether the scheduler is sure that it has ended.
        """
        self.place = place
        self.timing = timing
        self.took_over_from_dead = False
        self._process = process
        self._token = token
        self._doing = doing
        self._job_id = job_id
        self._is_job_over = is_job_over
        self._clock = clock
        self._heartbeat: _Heartbeat | None = None

    def acquired(self, *, wait_s: float = 0) -> StoreLock:
        """Takes the lock, waiting up to `wait_s` for another owner; StoreLocked names that owner."""
        deadline = self._clock.monotonic() + wait_s
        while True:
            with store_errors(self.place.lock):
                holder = self._try_to_take()
            if self._heartbeat is not None:
                return self
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0:
                raise self._refusal(holder)
            self._clock.sleep(min(self.timing.poll_s, left_s))

    def assert_held(self) -> None:
        """Raises LockLost unless this run is still the owner. Ask before anything irreversible.

        The answer is as fresh as the file system's view of `lock.d`; an NFS client may show a
        directory that is some seconds old.
        """
        if self._heartbeat is not None:
            self._heartbeat.beat()
        with store_errors(self.place.lock):
            head = read_head(self.place.lock)
        if self._heartbeat is None or head is None or not head.is_held_by(self._token):
            raise LockLost(reason=self._why_lost(head))

    def release(self) -> None:
        """Gives the lock back, if it is still ours. Never fails: a lock left behind goes stale."""
        if self._heartbeat is None:
            return
        self._heartbeat.stop()
        self._heartbeat = None
        # What was committed is committed; failing now would say otherwise.
        with suppress(OSError):
            head = read_head(self.place.lock)
            if head is not None and head.is_held_by(self._token):
                set_aside(self.place.directory, self.place.lock, self._token)

    def __enter__(self) -> StoreLock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def _try_to_take(self) -> Head | None:
        """Sets the heartbeat going when it worked, returns the holder when not."""
        head = None
        for _ in range(100):  # each further round means that another run released it in between
            head = self._try_once()
            if head is not None:
                break
        return head

    def _try_once(self) -> Head | None:
        made = make_lock_directory(self.place.lock)
        head = read_head(self.place.lock)
        if head is None:
            return None
        is_new = made and head.is_half_made
        if not is_new and not self._is_stale(head):
            return head
        try:
            is_claimed = claim(self.place.lock, head.successor, self._owner(), self._clock.now())
        except BaseException:
            # No room for an owner file: leave no half-made lock; one that has an owner stays.
            with suppress(OSError):
                os.rmdir(self.place.lock)
            raise
        return self._settle(head) if is_claimed else read_head(self.place.lock)

    def _settle(self, predecessor: Head) -> Head | None:
        """Looks again: the claim counts only if it is the end of the chain.

        A claim that does not count is left lying: by now its name may be another owner's.
        """
        head = read_head(self.place.lock)
        if head is not None and head.is_held_by(self._token):
            self.took_over_from_dead = predecessor.owner is not None and is_proven_dead(
                predecessor.owner, self._process
            )
            self._heartbeat = _Heartbeat(head, self.timing.heartbeat_s, self._clock.now)
        return head

    def _is_stale(self, head: Head) -> bool:
        silent_s = self._clock.now() - head.heartbeat
        if head.owner is None:
            return silent_s > self.timing.half_made_after_s
        if head.is_held_by(self._token):
            return False
        return (
            silent_s > self.timing.stale_after_s
            or is_proven_dead(head.owner, self._process)
            or (
                silent_s > self.timing.job_over_after_s
                and self._was_of_a_job_that_is_over(head.owner)
            )
        )

    def _was_of_a_job_that_is_over(self, owner: Owner) -> bool:
        """Its node may have died, and nobody else can tell that its process did."""
        return owner.job_id not in {None, self._job_id} and self._is_job_over(owner.job_id or 0)

    def _owner(self) -> Owner:
        return Owner(
            token=self._token,
            host=self._process.host,
            boot_id=self._process.boot_id,
            pid_namespace=self._process.pid_namespace,
            pid=self._process.pid,
            start_ticks=self._process.start_ticks,
            job_id=self._job_id,
            since=f"{datetime.fromtimestamp(self._clock.now(), timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
            doing=self._doing,
        )

    def _refusal(self, holder: Head | None) -> StoreLocked:
        owner = holder.owner if holder else None
        stale_after_s = self.timing.stale_after_s if owner else self.timing.half_made_after_s
        return StoreLocked(
            owner=owner.in_words() if owner else "another scratchflow that is just starting",
            stale_after=format_duration(stale_after_s),
        )

    def _why_lost(self, head: Head | None) -> str:
        if head is None or head.owner is None:
            return f"`{self.place.lock}` was removed"
        silent = format_duration(self.timing.stale_after_s)
        return f"after more than {silent} without a heartbeat it was taken over by {head.owner.in_words()}"


class _Heartbeat:
    """A thread that touches the owner's file, through a descriptor: never a successor's file."""

    def __init__(self, head: Head, every_s: float, now: Callable[[], float]) -> None:
        self._descriptor = os.open(head.file, os.O_RDONLY | os.O_NOFOLLOW)
        self._now = now
        self._every_s = every_s
        self._stopped = threading.Event()
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="store-lock-heartbeat", daemon=True)
        self._thread.start()

    def beat(self) -> None:
        """Touches the file. Needs no space, so a full disk does not silence it."""
        with (
            self._guard,
            suppress(OSError),
        ):  # a beat that failed is a beat missed, the next may work
            if not self._stopped.is_set():
                now = self._now()
                os.utime(self._descriptor, (now, now))

    def stop(self) -> None:
        """Ends the thread; the file is closed, for NFS keeps a removed open file in its directory."""
        with self._guard:
            self._stopped.set()
            os.close(self._descriptor)
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._every_s):
            self.beat()
