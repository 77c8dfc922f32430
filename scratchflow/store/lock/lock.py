"""The lock of a place: one writer at a time, and a dead one is taken over.

The promise: two runs that both act within their heartbeats never hold the lock together, whatever
their clocks say. A run that was stopped (a suspended machine, a mount that hung) for longer than
`stale_after_s` may be taken over while it still lives; it finds out in `assert_held`, which every
commit asks last. Names in the store are never reused, so that even a lock lost unnoticed costs no
earlier snapshot.

A holder is dead when its heartbeat did not change for `stale_after_s` of the waiting process's own
monotonic time. Three things shorten that:

- the holder's process is gone, and was on this very host: at once;
- Slurm says that the holder's job has ended, and two beats are missing;
- the heartbeat is older than `stale_after_s` by the stamps of the file system (see `silence`), and
  did not change for `confirm_s`: a live holder would have beaten twice, so that a wrong clock alone
  never ends its lock.

A command that waits for a holder without signs of life waits longer than it was asked to, until it
may take over: otherwise no command would ever wait long enough.
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

from scratchflow.model.errors.store import LockLost, StoreLocked
from scratchflow.model.units import format_duration
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.chain import (
    Head,
    Touch,
    claim,
    is_free,
    put_whole_lock,
    read_head,
    set_aside,
)
from scratchflow.store.lock.owner import Owner, Process, is_proven_dead
from scratchflow.store.lock.silence import HolderWatch, stamped_path


class LockTiming(msgspec.Struct, frozen=True):
    """How long silence lasts before it means death."""

    heartbeat_s: float = 30
    stale_after_s: float = 300
    # Two beats missed: how long an old heartbeat is watched before its age is believed.
    confirm_s: float = 65
    # An owner file that cannot be read: on file systems without hard links it may just be written.
    half_made_after_s: float = 60
    # An owner whose job is known to be over: two beats missed, in case it outlived its job.
    job_over_after_s: float = 65
    poll_s: float = 1


class Clock(msgspec.Struct, frozen=True):
    """Time as it comes in: the wall clock for people, the monotonic one for waiting.

    `touch` stamps a heartbeat: with the file server's time, where the file system has one.
    """

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    touch: Touch = os.utime


class StoreLock:
    """`with StoreLock(…).acquired(wait_s=60) as lock:` holds the place; see the module's promise."""

    def __init__(
        self,
        place: StoreDirectory,
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
        stamped = stamped_path(place.directory, token)
        self._watch = HolderWatch(stamped, touch=clock.touch, monotonic=clock.monotonic)

    def acquired(
        self, *, wait_s: float = 0, remark: Callable[[str], None] = lambda _: None
    ) -> StoreLock:
        """Takes the lock, waiting up to `wait_s` for another owner; StoreLocked names that owner.

        An owner that is silent when the time is up is waited for until it may be taken over;
        `remark` is told so.
        """
        deadline = self._clock.monotonic() + wait_s
        has_remarked = False
        while True:
            with store_errors(self.place.lock):
                holder = self._try_to_take()
            if self._heartbeat is not None:
                return self
            is_silent = bool(wait_s) and self._is_silent(holder)
            if is_silent and not has_remarked:
                remark(self._silence_in_words(holder))
                has_remarked = True
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0 and not is_silent:
                raise self._refusal(holder)
            poll_s = self.timing.poll_s
            self._clock.sleep(min(poll_s, left_s) if left_s > 0 else poll_s)

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
        lock = self.place.lock
        head = read_head(lock)
        if head is not None and head.is_held_by(self._token) and self._heartbeat is None:
            return self._settle(None)  # taken before, though the file system said otherwise
        if is_free(lock, head):
            put_whole_lock(self.place.directory, lock, self._owner(), self._clock.touch)
            return self._settle(None)
        if head is None or not self._is_stale(head):
            return head
        is_claimed = claim(lock, head.successor, self._owner(), self._clock.touch)
        return self._settle(head.owner) if is_claimed else read_head(lock)

    def _settle(self, predecessor: Owner | None) -> Head | None:
        """Looks again: the claim counts only if it is the end of the chain.

        A claim that does not count is left lying: by now its name may be another owner's.
        """
        head = read_head(self.place.lock)
        if head is not None and head.is_held_by(self._token):
            self.took_over_from_dead = predecessor is not None and is_proven_dead(
                predecessor, self._process
            )
            self._heartbeat = _Heartbeat(head, self.timing.heartbeat_s, self._clock.touch)
        return head

    def _is_stale(self, head: Head) -> bool:
        if head.is_held_by(self._token):
            return False
        silence, timing = self._watch.silence(head), self.timing
        if head.owner is None:
            return silence.observed_s >= timing.half_made_after_s
        is_old = silence.stamped_s >= timing.stale_after_s
        return (
            silence.observed_s >= timing.stale_after_s
            or (is_old and silence.observed_s >= timing.confirm_s)
            or is_proven_dead(head.owner, self._process)
            or (
                silence.stamped_s >= timing.job_over_after_s
                and self._was_of_a_job_that_is_over(head.owner)
            )
        )

    def _is_silent(self, holder: Head | None) -> bool:
        """Whether the owner missed two beats while this process looked."""
        return (
            holder is not None
            and holder.owner is not None
            and self._watch.silence(holder).observed_s >= self.timing.confirm_s
        )

    def _silence_in_words(self, holder: Head | None) -> str:
        if holder is None or holder.owner is None:
            return ""
        silent = format_duration(round(self._watch.silence(holder).observed_s))
        limit = format_duration(self.timing.stale_after_s)
        return (
            f"no sign of life from {holder.owner.in_words()} for {silent}; "
            f"after {limit} this command takes the store over"
        )

    def _was_of_a_job_that_is_over(self, owner: Owner) -> bool:
        """Its node may have died, and nobody else can tell that its process did."""
        if owner.job_id is None or owner.job_id == self._job_id:
            return False
        return self._is_job_over(owner.job_id)

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

    def __init__(self, head: Head, every_s: float, touch: Touch) -> None:
        self._descriptor = os.open(head.file, os.O_RDONLY | os.O_NOFOLLOW)
        self._touch = touch
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
                self._touch(self._descriptor)

    def stop(self) -> None:
        """Ends the thread; the file is closed, for NFS keeps a removed open file in its directory."""
        with self._guard:
            self._stopped.set()
            os.close(self._descriptor)
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._every_s):
            self.beat()
