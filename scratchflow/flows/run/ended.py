"""How a command of `run` ended that did not end by itself: with its job, or with the connection to it."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.model.errors.allocation import AllocationEnded, AllocationMissing, NodeFailed
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.run import RunCut
from scratchflow.model.events import Event, Warned
from scratchflow.model.requests import CarrierOf, RunAt
from scratchflow.model.results.run import RunCarrier, RunPlace
from scratchflow.process.carried import Outcome

COMMAND = "the command"
_GO_ON = "`scratchflow status` shows when the last snapshot was taken, `scratchflow up` takes another node"


def cut_error(outcome: Outcome, node: str, ended: str = "") -> RunCut:
    """The error for a command that had started, and of whose end nothing was heard; `ended` is what `job_end` says."""
    if ended:
        return _cut_with_job(node, COMMAND, ended)
    as_what = f" as process group {outcome.group}" if outcome.group else ""
    what_now = (
        f"it may still run there{as_what}; `scratchflow run --detach -- CMD` needs no connection"
    )
    return RunCut(
        node=node, what=COMMAND, reason="it ended before the command did", what_now=what_now
    )


def cut_in_terminal(node: str, what: str, ended: str) -> RunCut:
    """The same for what had a terminal there, and has lost it in any case."""
    if ended:
        return _cut_with_job(node, what, ended)
    what_now = (
        f"{what} has ended with its terminal; `scratchflow status` shows whether the node is still there,"
        " and `scratchflow attach` a shell that stays"
    )
    return RunCut(node=node, what=what, reason=f"it ended before {what} did", what_now=what_now)


def _cut_with_job(node: str, what: str, ended: str) -> RunCut:
    what_now = f"{what} ended with its job; `scratchflow up` takes another node"
    return RunCut(node=node, what=what, reason=ended, what_now=what_now)


def job_end(cluster: Cluster, job_id: int | None) -> str:
    """How the job of a command ended, in words; empty while it runs, and when nobody can say."""
    try:
        if cluster.on_login("run carrier", CarrierOf(), RunCarrier, emit=_unheard).job_id == job_id:
            return ""
    except AllocationMissing:
        pass
    except NodeFailed as error:
        return str(error)
    except ScratchflowError:
        return ""
    try:
        cluster.at_workspace("run place", RunAt(), RunPlace, job_id=job_id, emit=_unheard)
    except (AllocationEnded, NodeFailed) as error:
        return str(error)
    except ScratchflowError:  # Slurm is still at it
        pass
    return f"job {job_id} has ended"


def job_end_by_settings(environment: Mapping[str, str], job_id: str) -> str:
    """The same for whoever has reached no cluster; nothing is asked on the terminal."""
    if not job_id.isdigit():
        return ""
    caller = Caller(Asked(), environment)
    try:
        with cluster_of(caller.settings(), caller, _unheard) as cluster:
            return job_end(cluster, int(job_id))
    except ScratchflowError:
        return ""


def is_ended_by_others(outcome: Outcome) -> bool:
    """Whether the command was sent SIGTERM by nobody here: `clear`, and the time limit, end its job so."""
    return outcome.code == 128 + signal.SIGTERM and not outcome.signals


def ended_with_job(ended: str, what: str = COMMAND, how: str = " (SIGTERM)") -> Warned:
    """What is said beside the exit code of a command that ended with its job, and how to go on."""
    message = f"{ended}; {what} ended with it{how}; {_GO_ON}"
    return Warned(code="run.job_ended", message=message)


def _unheard(_: Event) -> None:
    """The command's own output is what is shown."""
