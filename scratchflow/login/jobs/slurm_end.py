"""The end of one task as it is written down: what accounting says of it, what `squeue` says, what was noted before.

Pure. Accounting may answer before it knows all: then its answer is noted, and asked for again.
"""

from __future__ import annotations

import pwd
from typing import TYPE_CHECKING

import msgspec

from scratchflow.cluster.slurm.batch.queue import QueuedTask
from scratchflow.cluster.slurm.states import state_of
from scratchflow.model.job import SlurmTask
from scratchflow.model.times import epoch, iso_time

if TYPE_CHECKING:
    from scratchflow.cluster.slurm.batch.accounting import AccountedTask

ACCOUNTING_LAGS_S = 86400.0
"""So long after an end accounting is asked for what it has not said yet: its database may have been away."""
STEPS_LAG_S = 60.0
"""So long after an end accounting may still lack what the job's steps used, and that one ran out of memory."""


class Said(msgspec.Struct, frozen=True):
    """What there is about the end of a task: what was noted at an earlier look, and what Slurm says now."""

    noted: SlurmTask | None
    queued: QueuedTask | None
    accounted: AccountedTask | None

    @property
    def has_no_news(self) -> bool:
        """Whether accounting says nothing, and `squeue` nothing that is not noted."""
        noted, queued = self.noted, self.queued
        if self.accounted is not None or noted is None:
            return False
        if queued is None or (noted.state == queued.state and epoch(noted.end) == queued.end):
            return True
        # Only accounting tells an exit code, and it knows more of the same run than `squeue`.
        return noted.code is not None and not _is_before(epoch(noted.start), queued)

    def end(self, task: int, restarts: int, now_s: float, *, is_all: bool) -> SlurmTask | None:
        """As accounting says, or else `squeue`; `is_all` when nobody will ever say more."""
        said, queued = self.accounted, self.queued
        is_end = said is not None and state_of(said.state)[0] == "ended"
        # Accounting lags: it may still have the run before a requeue for the last one.
        if said is not None and is_end and not _is_before(said.start, queued):
            return self._as_accounted(said, task, restarts, now_s)
        if queued is None:
            return None
        return SlurmTask(
            task=task,
            job_id=queued.job_id,
            state=queued.state,
            reason=queued.reason,
            node=queued.node,
            start=iso_time(queued.start),
            end=iso_time(queued.end),
            restarts=restarts,
            accounted=is_all,
        )

    def _as_accounted(
        self, said: AccountedTask, task: int, restarts: int, now_s: float
    ) -> SlurmTask:
        end = iso_time(said.end) or self._end_so_far
        return SlurmTask(
            task=task,
            job_id=said.job_id,
            state=said.state,
            reason=said.reason or self._reason_so_far,
            node=said.node,
            start=iso_time(said.start),
            end=end,
            code=said.code,
            signal=said.signal,
            cancelled_by=_user(said.cancelled_by),
            peak_memory_bytes=said.peak_memory_bytes,
            cpu_s=said.cpu_s,
            asked_memory=said.asked_memory,
            restarts=restarts,
            accounted=is_complete(said, now_s - (epoch(end) or now_s)),
        )

    @property
    def _end_so_far(self) -> str | None:
        if self.queued is not None and self.queued.end is not None:
            return iso_time(self.queued.end)
        return self.noted.end if self.noted else None

    @property
    def _reason_so_far(self) -> str:
        """As `squeue` says or has said: accounting may have none."""
        reason = self.queued.reason if self.queued else self.noted.reason if self.noted else ""
        return "" if reason == "None" else reason


def is_complete(said: AccountedTask, since_end_s: float) -> bool:
    """Whether accounting will not say more of this end. Who cancelled it may never come: then a day is enough."""
    if since_end_s >= ACCOUNTING_LAGS_S:
        return True
    lacks_who = said.state == "CANCELLED" and said.cancelled_by is None
    return said.end is not None and not lacks_who and since_end_s >= STEPS_LAG_S


def _is_before(start: float | None, queued: QueuedTask | None) -> bool:
    """Whether what started then is an earlier run than the one that `squeue` shows."""
    started = queued.start if queued else None
    return started is not None and start is not None and start < started


def _user(number: int | None) -> str:
    if number is None:
        return ""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
