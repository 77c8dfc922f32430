"""`session`, on the login host: our tmux session with a shell on the node, opened again where it was lost."""

from __future__ import annotations

from scratchflow.cluster import none
from scratchflow.cluster.tmux_window import show_node
from scratchflow.cluster.whereami import node_name
from scratchflow.flows.login_host import LoginHost
from scratchflow.flows.relaying import require_allocation
from scratchflow.model.errors import AllocationMissing
from scratchflow.model.results import SessionReady


def ready_session(login: LoginHost) -> SessionReady:
    """The session, and what a terminal on its host runs to show it."""
    name, session = login.settings.name, login.profile.tmux_session
    elsewhere = login.session_elsewhere()
    if elsewhere:
        argv = ["tmux", "-L", "scratchflow", "attach-session", "-t", f"={session}"]
        return SessionReady(session=session, host=elsewhere, is_here=False, argv=argv)
    if login.profile.scheduler == "none":
        if none.allocation(login.tmux, name, node_name(login.environment)) is None:
            raise AllocationMissing(profile=name)
    else:
        held = require_allocation(login.slurm, name)
        pane = show_node(login.tmux, name, session, held, login.shell)
        login.note_session(pane.session)
        session = pane.session
    argv = login.tmux.attach_argv(name)
    return SessionReady(session=session, host=login.host, is_here=True, argv=argv)
