"""The request for a node as a person waits for it: interrupted, it says what became of the request."""

from __future__ import annotations

import signal

from scratchflow.dispatch.cluster import Cluster
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.events import Event, Progress, State
from scratchflow.model.requests import Hold, OpenJobs, Release
from scratchflow.model.results.allocation import NodeHeld, NodeReleased
from scratchflow.model.results.status import JobsShown
from scratchflow.process.interrupted import Interrupted
from scratchflow.process.waiting import looks

_WITHDRAW_S, _LOOK_S = 20.0, 0.3


def hold(cluster: Cluster, request: Hold) -> NodeHeld:
    """The node that the login host holds for us. A second Ctrl-C ends it without a look at the queue."""
    seen: list[State] = []

    def watch(event: Event) -> None:
        if isinstance(event, State) and event.job_id is not None:
            seen[:] = [event]
        cluster.emit(event)

    try:
        return cluster.on_login("hold", request, NodeHeld, emit=watch)
    except Interrupted as interrupted:
        if not seen:
            raise
        became = _what_became(cluster, request, seen[-1], interrupted.signum)
        raise EndedBySignal(interrupted.signum, became) from interrupted


def _what_became(cluster: Cluster, request: Hold, last: State, signum: int) -> str:
    """The login host withdraws the request by itself, or leaves it for us to do; here it is looked whether it is gone."""
    if last.resumed or (request.keep_waiting and signum != signal.SIGINT):
        return f"Job {last.job_id} stays in the queue; `scratchflow clear --pending` withdraws it."
    cluster.emit(Progress(phase="withdrawing the request"))
    try:
        if request.keep_waiting and last.job_id is not None:
            # The end of our connection does not end such a request.
            cluster.on_login("release", Release(job_ids=(last.job_id,)), NodeReleased)
        for _ in looks(_WITHDRAW_S, _LOOK_S):
            jobs = cluster.on_login("jobs open", OpenJobs(), JobsShown).jobs
            if all(job.job_id != last.job_id for job in jobs):
                return f"The request (job {last.job_id}) was withdrawn."
    except ScratchflowError:
        pass
    return f"Job {last.job_id} may still be in the queue; `scratchflow status` shows it."
