"""The request for a node as a person waits for it: interrupted, it says what became of the request."""

from __future__ import annotations

from scratchflow.dispatch.cluster import Cluster
from scratchflow.model.errors import EndedBySignal, ScratchflowError
from scratchflow.model.events import Event, Progress, State
from scratchflow.model.requests import Hold, OpenJobs
from scratchflow.model.results import JobsShown, NodeHeld
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
        became = _what_became(cluster, seen[-1])
        raise EndedBySignal(interrupted.signum, became) from interrupted


def _what_became(cluster: Cluster, last: State) -> str:
    """The login host withdraws the request by itself; here it is looked whether it is gone."""
    if last.resumed:
        return f"Job {last.job_id} stays in the queue; `scratchflow clear` withdraws it."
    cluster.emit(Progress(phase="withdrawing the request"))
    try:
        for _ in looks(_WITHDRAW_S, _LOOK_S):
            jobs = cluster.on_login("jobs open", OpenJobs(), JobsShown).jobs
            if all(job.job_id != last.job_id for job in jobs):
                return f"The request (job {last.job_id}) was withdrawn."
    except ScratchflowError:
        pass
    return f"Job {last.job_id} may still be in the queue; `scratchflow status` shows it."
