"""What is said while a job waits in the queue: each change of its state, and for how long it may take."""

from __future__ import annotations

import msgspec

from scratchflow.cluster.slurm.reasons import explain
from scratchflow.cluster.slurm.salloc import Holder
from scratchflow.cluster.slurm.submit import Submission
from scratchflow.cluster.slurm.wait import Patience
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation
from scratchflow.model.events import Progress, State
from scratchflow.model.times import iso_time
from scratchflow.model.units import format_duration


def submission(
    login: LoginHost, holder: Holder, patience: Patience, *, resumed: bool = False
) -> Submission:
    """What asks Slurm and waits, telling the user of every change."""
    watch = _Watch(login, patience, resumed=resumed)
    return Submission(login.slurm, holder, patience, watch=watch)


class _Watch:
    """Emits an event for each change of the job's state."""

    def __init__(self, login: LoginHost, patience: Patience, *, resumed: bool) -> None:
        self._login = login
        self._patience = patience
        self._resumed = resumed
        self._has_said_how_long = False
        self._previous: str | None = None
        self._shown: State | None = None

    def __call__(self, seen: Allocation) -> None:
        event = State(
            state=seen.state,
            previous=self._previous,
            reason=seen.reason_text or None,
            job_id=seen.job_id,
            node=seen.node,
            deadline=iso_time(seen.end_time),
            start_estimate=iso_time(seen.start_estimate),
            resumed=self._resumed,
        )
        if self._shown is None or msgspec.structs.replace(self._shown, previous=None) != (
            msgspec.structs.replace(event, previous=None)
        ):
            self._login.emit(event)
            self._say_how_long(seen)
            if seen.state != "running":
                self._login.emit(Progress(phase="waiting for a node"))
        self._shown, self._previous = event, seen.state

    def _say_how_long(self, seen: Allocation) -> None:
        """Once: how long it will take at most, and how to end it."""
        if explain(seen.reason).permanence == "never":
            return  # it is withdrawn at once
        if seen.state == "pending" and not self._has_said_how_long:
            self._has_said_how_long = True
            words = how_long(self._patience, seen.job_id, resumed=self._resumed)
            self._login.remark(words, for_terminal=True)


def how_long(patience: Patience, job_id: int | None, *, resumed: bool) -> str:
    """How long the wait is at most, what happens then, and what Ctrl-C does."""
    limit = (
        "waiting without limit"
        if patience.wait_s is None
        else f"waiting for up to {format_duration(patience.wait_s)}"
    )
    if resumed:
        return f"{limit}; Ctrl-C stops waiting and leaves job {job_id} in the queue"
    stays = patience.keep_waiting and patience.wait_s is not None
    then = ", then the request stays in the queue" if stays else ""
    lost = ", a lost connection does not" if patience.keep_waiting else ""
    return f"{limit}{then}; Ctrl-C withdraws the request{lost}"
