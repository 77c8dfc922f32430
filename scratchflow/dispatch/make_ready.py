"""`make ready`, on the login host: what `up` needs of a node that is held already, in one request.

The node is asked while Slurm, tmux and the store are looked at: both take about as long.
"""

from __future__ import annotations

from scratchflow.dispatch.relay import relay_to_all
from scratchflow.login.autobackup.switch import is_on, switch_on
from scratchflow.login.current_job import note_current_job
from scratchflow.login.host import LoginHost
from scratchflow.login.status.jobs import jobs_seen, meant_of
from scratchflow.login.status.status import look
from scratchflow.model.allocation import Allocation, RunningAllocation
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.events import PHASE_WORKSPACE, Progress
from scratchflow.model.requests import MakeReady, Settle, SwitchOn
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.up import MadeReady
from scratchflow.process.parallel import Meanwhile
from scratchflow.reach.node import steps_overlap
from scratchflow.store.directory import find_place
from scratchflow.store.known import store_lost
from scratchflow.workspace.workspace import expand


def make_ready(login: LoginHost, asked: MakeReady) -> MadeReady:
    """A look; and when the asker's alias leads to the node that is held, workspace and auto-backup are made sure of."""
    Meanwhile(
        lambda: steps_overlap(login.environment), "look-srun"
    )  # for whoever asks the node, in a moment
    found = jobs_seen(login)
    held = _usable(login, meant_of(login, found[0]), asked)
    if held is None:
        return MadeReady(seen=look(login, found=found))
    seen = Meanwhile(lambda: look(login, found=found), "look")
    running = Meanwhile(lambda: is_on(login, held), "look-autobackup")
    login.emit(Progress(phase=PHASE_WORKSPACE))
    settled = relay_to_all(
        held,
        login.settings,
        "settle",
        Settle(),
        login.environment,
        login.emit,
        verbose=asked.verbose,
    )
    if not isinstance(settled, Settled):
        raise TypeError(f"{type(settled)} instead of {Settled}")
    note_current_job(login, held.job_id)
    switched = running.result() or switch_on(login, SwitchOn(job_id=held.job_id))
    return MadeReady(seen=seen.result(), workspace=settled, autobackup=switched)


def _usable(
    login: LoginHost, held: Allocation | None, asked: MakeReady
) -> RunningAllocation | None:
    """The allocation, if nothing but the workspace and the auto-backup can be missing on it."""
    running = held.granted() if held and held.state == "running" else None
    if running is None or asked.alias not in {None, running.nodes} or _is_store_lost(login):
        return None
    return running


def _is_store_lost(login: LoginHost) -> bool:
    """Whether nothing must be asked of the node: the look says what is wrong. Other faults of the store the node tells."""
    profile = login.profile
    try:
        place = find_place(expand(profile.store, login.environment), profile.workspace)
        return store_lost(login.home, place, login.host) is not None
    except ScratchflowError:
        return False
