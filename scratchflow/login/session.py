"""`session`, on the login host: our tmux session with a shell on the node, opened again where it was lost."""

from __future__ import annotations

from scratchflow.cluster.slurm.request import login_shell_argv
from scratchflow.cluster.this_host import node_name
from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.cluster.tmux.server import SOCKET
from scratchflow.cluster.tmux.window import show_node
from scratchflow.login.host import LoginHost
from scratchflow.model.errors import AllocationMissing
from scratchflow.model.requests import Session
from scratchflow.model.results import SessionReady
from scratchflow.reach.node import steps_overlap
from scratchflow.reach.node_agent import require_allocation


def ready_session(login: LoginHost, asked: Session) -> SessionReady:
    """The session, and what a terminal on its host runs to show it.

    Its shell starts in the workspace; one that was started before there was any, and that nobody has
    looked at, is started again. It may live on another login host of a pool. With `rebuild` it is opened here all the same: that
    one may be gone, and the session is only a view of the node.
    """
    name = login.settings.name
    elsewhere = None if asked.rebuild else login.session_elsewhere()
    if elsewhere:
        argv = ["tmux", "-L", SOCKET, "attach-session", "-t", f"={elsewhere.session}"]
        return SessionReady(
            session=elsewhere.session,
            host=elsewhere.host,
            is_here=False,
            argv=argv,
            user=login.user,
        )
    if login.profile.scheduler == "none":
        node = node_name(login.environment)
        if none.allocation(login.tmux, name, node) is None:
            raise AllocationMissing(profile=name)
        shell = login_shell_argv(login.shell, login.workspace_path)
        session = login.profile.tmux_session
        none.allocate(login.tmux, name, session, node, shell, renew_unused=True)
    else:
        held = require_allocation(login.slurm, name)
        overlap = steps_overlap(login.environment)
        session = login.profile.tmux_session
        pane = show_node(
            login.tmux,
            name,
            session,
            held,
            login.shell,
            overlap=overlap,
            directory=login.workspace_path,
            renew_unused=True,
        )
        login.note_session(pane.session)
    argv = login.tmux.attach_argv(name)
    session = argv[-1].removeprefix("=")
    return SessionReady(session=session, host=login.host, is_here=True, argv=argv, user=login.user)
