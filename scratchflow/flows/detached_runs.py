"""What `run --detach` left running, when the node is given back or the session ends."""

from __future__ import annotations

from collections.abc import Iterable

from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.login.host import LoginHost
from scratchflow.model.events import Emit, Warned
from scratchflow.model.results import DetachedRun
from scratchflow.process.session import processes_of_sessions
from scratchflow.process.waiting import looks

_END_S = 3.0


def tell_what_ends(emit: Emit, runs: Iterable[DetachedRun], jobs: set[int | None]) -> None:
    """Warns of the commands that end with these jobs."""
    for run in runs:
        if run.job_id in jobs:
            message = f"`run --detach` left a command running in window `{run.window}`: it ends with job {run.job_id}"
            emit(Warned(code="run.ends", message=message))


def end_runs_here(login: LoginHost) -> bool:
    """Ends the session on this machine; tells which commands of `run --detach` go on all the same.

    A closed terminal asks them to end (SIGHUP), and whoever does not heed that may have a reason.
    """
    name = login.settings.name
    windows = {pane.pid: pane.window for pane in login.tmux.detached(name)}
    ended = none.release(login.tmux, name)
    left: dict[int, int] = {}
    for _ in looks(_END_S, 0.05, login.clock):
        left = processes_of_sessions(windows)
        if not left:
            break
    for session, window in windows.items():
        pids = sorted(pid for pid, of in left.items() if of == session)
        if pids:
            kill = f"kill {' '.join(map(str, pids))}"
            message = f"the command of window `{window}` goes on, though its terminal is gone; `{kill}` ends it"
            login.caution("run.goes_on", message)
    return ended
