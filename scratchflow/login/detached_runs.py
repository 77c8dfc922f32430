"""What `run --detach` left running, when the node is given back or the session ends."""

from __future__ import annotations

from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.login.host import LoginHost
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.model.results.status import DetachedRun
from scratchflow.process.session import processes_of_sessions
from scratchflow.process.waiting import looks

_END_S = 3.0


def detached_runs(login: LoginHost) -> list[DetachedRun]:
    """Those in jobs, of our session on this host; nothing where tmux cannot be asked."""
    if not login.has_tmux:
        return []
    try:
        panes = login.tmux.detached(login.settings.name)
    except TmuxFailed:
        return []
    return [DetachedRun(pane.window, int(pane.run)) for pane in panes if pane.run.isdigit()]


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
