"""The one thing that makes sense next, by what `status` sees."""

from __future__ import annotations

from scratchflow.model.ages import span
from scratchflow.model.allocation import HELD
from scratchflow.model.results.status import AllocationShown, StatusShown

# With less time than this left, moving is what matters; `hop` needs a few minutes of it.
_ENDING_S = 15 * 60
# With less than this the end is near, however short the job is.
_NEAR_S = 2 * 60


# On a machine that knows no cluster and holds no workspace.
_BEGIN = (
    "`scratchflow up LOGIN` sets a cluster up (LOGIN as you type it after `ssh`),"
    " `scratchflow up --local` works on this machine alone"
)
_UNSAVED = "`scratchflow snapshots diff` shows what is not saved yet"


def next_step(status: StatusShown, *, has_begun: bool = True) -> str:
    """As a sentence with a command in it; empty when problems are shown, because each has its own."""
    if status.problems:
        return ""
    if not has_begun and not status.snapshots.count:
        return _BEGIN
    if status.scheduler == "none":  # no node to take, no editor to connect
        return _at_workspace(status) or "; ".join(filter(None, [_autobackup(status), _UNSAVED]))
    held = status.allocation
    if held is None or held.state not in HELD:
        return _without_node(held)
    return _on_node(status, held)


def _without_node(held: AllocationShown | None) -> str:
    if held is not None and held.state == "pending":
        return "`scratchflow up` waits for the node, `scratchflow clear` withdraws the request"
    return "`scratchflow up` takes a node and brings the workspace there"


def _on_node(status: StatusShown, held: AllocationShown) -> str:
    is_there, is_saved = status.workspace.exists, status.autobackup.enabled
    if is_there is False or (is_there is None and not is_saved):  # after `allocate` alone
        return "`scratchflow up` brings the workspace there"
    if not is_saved:
        return _autobackup(status)
    if held.seconds_left is not None and held.seconds_left <= 0:  # Slurm ends it within minutes
        return "`scratchflow up` takes a node when the job has ended"
    if _is_ending(held):
        return "`scratchflow hop` moves to another node before the time is up"
    return (
        "`scratchflow open` opens the workspace in VS Code, `scratchflow shell` a shell in it;"
        f" {_UNSAVED}"
    )


def _is_ending(held: AllocationShown) -> bool:
    """A short job has just begun while more than half of it is left, unless that is a minute or two."""
    half_s = held.half_s()
    ending_s = _ENDING_S if half_s is None else max(_NEAR_S, min(_ENDING_S, half_s))
    return held.seconds_left is not None and held.seconds_left < ending_s


def _at_workspace(status: StatusShown) -> str:
    if status.workspace.exists is False and status.snapshots.count:
        return "`scratchflow restore` brings the workspace back"
    if status.workspace.exists is False:
        return "`scratchflow create` makes the workspace"
    if not status.snapshots.count:
        return "`scratchflow backup` takes the first snapshot"
    return ""


def _autobackup(status: StatusShown) -> str:
    if not status.autobackup.enabled:
        every = span(status.autobackup.every_s)
        return f"`scratchflow autobackup on` saves the workspace every {every}"
    return ""
