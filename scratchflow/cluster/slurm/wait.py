"""The wait for a job to run: looks at Slurm less and less often, and knows when it is in vain."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from scratchflow.cluster.slurm import salloc_text
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.doubt import Doubt
from scratchflow.cluster.slurm.jobs import has_accounting, has_other_jobs, job_named
from scratchflow.cluster.slurm.reasons import explain, is_of_accounting
from scratchflow.cluster.slurm.salloc import Holder
from scratchflow.cluster.slurm.states import CAUSE_TEXTS
from scratchflow.model.allocation import HELD, Allocation, RunningAllocation
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    AllocationPending,
    AllocationRefused,
    NodeFailed,
)
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.units import format_duration
from scratchflow.process.waiting import Clock

Watch = Callable[[Allocation], None]

CONFIGURE_S = 1800.0
"""How long a granted node may boot. Slurm's own ResumeTimeout usually ends it long before."""
OUT_OF_REACH_S = 60.0
"""How long slurmctld may be away in the middle of a wait: a restart must not cost the place in the queue."""

_FIRST_LOOK_S, _LAST_LOOK_S = 0.25, 10.0
_LISTEN_S = 0.2


class Patience(msgspec.Struct, frozen=True):
    """How long to wait for the grant, and whether the request stays in the queue after that.

    Without a limit (None) the wait ends with the grant, or with an interruption.
    """

    wait_s: float | None
    keep_waiting: bool = False


class Wait:
    """One wait for one job, known by its name."""

    def __init__(
        self, slurm: Slurm, name: str, profile: str, patience: Patience, clock: Clock
    ) -> None:
        self._slurm = slurm
        self._name = name
        self._profile = profile
        self._patience = patience
        self._clock = clock
        self._began = clock.monotonic()
        self._answered = self._began
        self._granted_at: float | None = None
        self._last: Allocation | None = None
        self._doubt = Doubt()

    def until_running(
        self, watch: Watch, holder: Holder | None, *, detached: bool
    ) -> RunningAllocation:
        """Returns the running job.

        AllocationPending at the limit, AllocationRefused for a reason that never clears,
        AllocationEnded, NodeFailed, SlurmUnreachable as they happen. The limit counts until the
        grant; after it the node may take CONFIGURE_S to boot.
        """
        interval_s = _FIRST_LOOK_S
        while True:
            gone = _gone(holder, self._slurm, self._profile)
            seen = self._look()
            if seen is not None and seen != self._last:
                self._last = seen
                interval_s = _FIRST_LOOK_S
                watch(seen)
            running = seen.granted() if seen is not None and seen.state == "running" else None
            if running is not None:
                return running
            if gone and (seen is None or not detached):
                raise _vanished(seen)
            if seen is None:
                self._give_up_if_forgotten(holder)
            else:
                self._give_up_if_hopeless(seen)
            left_s = self._mind_the_limit()
            self._listen(holder, min(interval_s, left_s))
            interval_s = min(interval_s * 1.5, _LAST_LOOK_S)

    def _look(self) -> Allocation | None:
        try:
            seen = job_named(self._slurm, self._name)
        except SlurmUnreachable as error:
            if self._clock.monotonic() - self._answered > OUT_OF_REACH_S:
                raise self._lost(error) from error
            return Allocation(
                job_id=self._last.job_id if self._last else None,
                name=self._name,
                state="unknown",
                reason_text="Slurm does not answer",
            )
        self._answered = self._clock.monotonic()
        return seen

    def _lost(self, error: SlurmUnreachable) -> SlurmUnreachable:
        job_id = self._last.job_id if self._last else None
        left = f"; job {job_id} may still be in its queue" if job_id else ""
        return self._slurm.unreachable(f"{error.fields['reason']}{left}")

    def _give_up_if_forgotten(self, holder: Holder | None) -> None:
        """A slurmctld that was killed may forget a young job, whose `salloc` then waits for ever."""
        if self._last is not None and self._last.job_id is not None:
            raise forgotten_error(self._last.job_id)
        if holder is None:
            raise AllocationMissing(profile=self._profile)

    def _give_up_if_hopeless(self, seen: Allocation) -> None:
        is_over = seen.state in {"ended", "completing"}
        # Slurm ends a request that no node can meet by itself: there was never a node to lose.
        was_refused = is_over and not seen.nodes and explain(seen.reason).permanence == "never"
        if was_refused or (seen.state == "pending" and self._in_vain(seen)):
            reason = f"{explain(seen.reason).text} ({seen.reason})"
            raise AllocationRefused.of_profile(reason=reason, profile=self._profile)
        if is_over:
            raise ended_error(seen)
        if seen.state in HELD and self._granted_at is None:
            self._granted_at = self._clock.monotonic()

    def _in_vain(self, seen: Allocation) -> bool:
        is_believed = self._doubt.believes(seen.reason, self._clock.monotonic())
        permanence = explain(seen.reason).permanence
        if permanence == "clears" or not is_believed:
            return False
        try:
            if is_of_accounting(seen.reason) and not has_accounting(self._slurm):
                return False  # nobody could know: there are no accounts
            return permanence == "never" or not has_other_jobs(self._slurm, seen)
        except SlurmUnreachable:
            return False  # the next look decides

    def _mind_the_limit(self) -> float:
        """The seconds that are left; AllocationPending when there are none."""
        since = self._began if self._granted_at is None else self._granted_at
        limit_s = self._patience.wait_s if self._granted_at is None else CONFIGURE_S
        waited_s = self._clock.monotonic() - since
        if limit_s is None:
            return math.inf
        if waited_s < limit_s:
            return limit_s - waited_s
        last = self._last
        raise AllocationPending(
            job_id=(last.job_id if last else None) or "?",
            waited=format_duration(waited_s),
            reason=_shown_reason(last),
            next_step="the request stays in the queue; the same command waits on for it"
            if self._patience.keep_waiting
            else "the request was withdrawn; ask for less, or wait longer with `--wait 1h` or `--keep-waiting`",
        )

    def _listen(self, holder: Holder | None, interval_s: float) -> None:
        """Waits for the next look, or until `salloc` has something new to say: that costs Slurm nothing."""
        until = self._clock.monotonic() + interval_s
        heard = holder.said() if holder else ""
        while (left_s := until - self._clock.monotonic()) > 0:
            self._clock.sleep(min(max(_LISTEN_S, interval_s / 10), left_s))
            if holder and holder.said() != heard:
                return


def ended_error(seen: Allocation) -> AllocationEnded | NodeFailed:
    """The error for a job that is over, with its cause."""
    # Which of several it was, nobody says: while a job is cleaned up, Slurm lists the nodes that did not fail.
    if seen.cause == "node_fail" and (len(seen.nodes) > 1 or seen.state == "completing"):
        reason = "one of its nodes failed" if seen.nodes else CAUSE_TEXTS[seen.cause]
        return AllocationEnded(job_id=seen.job_id, reason=reason)
    if seen.cause in {"node_fail", "boot_fail"}:
        reason = "Slurm has given it up" if seen.cause == "node_fail" else CAUSE_TEXTS[seen.cause]
        return NodeFailed(node=seen.node or "?", reason=reason)
    reason = CAUSE_TEXTS[seen.cause] if seen.cause else "it was cancelled, or its time is up"
    return AllocationEnded(job_id=seen.job_id, reason=reason)


def forgotten_error(job_id: int) -> AllocationEnded:
    """The error for a job that Slurm, which answers, does not know any more."""
    return AllocationEnded(job_id=job_id, reason=CAUSE_TEXTS["forgotten"])


def _vanished(seen: Allocation | None) -> AllocationEnded:
    return AllocationEnded(
        job_id=(seen.job_id if seen else None) or "?",
        reason="`salloc` was ended before a node was granted",
    )


def _gone(holder: Holder | None, slurm: Slurm, profile: str) -> bool:
    """Whether `salloc` has left without a grant or a word; its words are raised as the error they mean."""
    if holder is None:
        return False
    code = holder.exit_code()  # before its words: they are complete once it has ended
    if code is None:
        return False
    said = holder.said()
    if salloc_text.was_granted(said):
        return False
    error = salloc_text.failure(said, slurm, profile) if code != 0 else None
    if error is not None:
        raise error
    return True


def _shown_reason(last: Allocation | None) -> str:
    if last is None:
        return "Slurm has not taken the request yet"
    if last.state == "configuring":
        return "its node is still being prepared"
    return f"{last.reason_text} ({last.reason})" if last.reason else last.reason_text
