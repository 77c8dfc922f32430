"""`session`, on the login host: our tmux session with a shell on the node, opened again where it was lost."""

from __future__ import annotations

import msgspec

from scratchflow.agent.request import asking
from scratchflow.cluster.slurm.request import login_shell_argv
from scratchflow.cluster.this_host import node_name
from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.cluster.tmux.server import SOCKET
from scratchflow.cluster.tmux.window import NodeShell, of_an_ended_job, show_node
from scratchflow.login.host import LoginHost
from scratchflow.login.nodes import newest_not, warm_nodes
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import TmuxInJob
from scratchflow.model.profile import EnvironmentOptions, to_plain
from scratchflow.model.requests import NOTHING, Session
from scratchflow.model.results.run import EnvironmentReady, SessionReady
from scratchflow.node.context import node_context
from scratchflow.node.environment.missing import shell_without
from scratchflow.node.progress import Notifier
from scratchflow.reach.node import cpus_are_bound, node_transport, steps_overlap
from scratchflow.reach.node_agent import ask_node, require_allocation


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
    if login.is_in_a_job:
        raise TmuxInJob(host=login.host)
    base = newest = ""
    if login.profile.scheduler == "none":
        node = node_name(login.environment)
        if none.allocation(login.tmux, name, node) is None:
            raise AllocationMissing(profile=name)
        environment = environment_file(login, None)
        shell = login_shell_argv(login.shell, login.start_directory(None), environment)
        session = login.profile.tmux_session
        none.allocate(login.tmux, name, session, node, shell, renew_unused=True)
    else:
        held = require_allocation(login.slurm, name, login.home)
        environment = environment_file(login, held)
        shell = login_shell_argv(login.shell, login.start_directory(held), environment)
        session = login.profile.tmux_session
        pane = show_node(
            login.tmux,
            name,
            session,
            held,
            NodeShell(shell, steps_overlap(login.environment), cpus_are_bound(login.environment)),
            renew_unused=True,
            has_ended=login.has_ended,
        )
        login.note_session(pane.session)
        base = warm_nodes(login.settings, login.environment).get(held.node, "")
        newest = newest_not(base or None, login.settings, login.environment)
    argv = login.tmux.attach_argv(name)
    session = argv[-1].removeprefix("=")
    return SessionReady(
        session=session,
        host=login.host,
        is_here=True,
        argv=argv,
        user=login.user,
        base=base if newest else "",
        newest=newest,
    )


def environment_file(login: LoginHost, held: RunningAllocation | None) -> str:
    """The file with the profile's environment that a new shell reads; empty when none is to be started.

    A layer that fails is a warning here: it takes a shell to mend it.
    """
    if login.profile.environment == EnvironmentOptions():
        return ""
    is_over = of_an_ended_job(login.has_ended)
    if not login.tmux.would_start(login.settings.name, renew_unused=True, is_over=is_over):
        return ""
    try:
        if held is None or held.node == node_name(login.environment):
            return _prepared_here(login)
        return _prepared_on_node(login, held)
    except ScratchflowError as error:
        login.caution(error.code, shell_without(error))
        return ""


def _prepared_here(login: LoginHost) -> str:
    from scratchflow.node.environment.shell import prepare_shell

    context = node_context(login.settings, login.environment)
    return prepare_shell(context, Notifier(login.emit), NOTHING, login.environment).file


def _prepared_on_node(login: LoginHost, held: RunningAllocation) -> str:
    name, profile = login.settings.name, to_plain(login.profile)
    asked = asking("environment", {}, profile_name=name, profile=profile)
    scratch = login.scratch_of(held)
    request = msgspec.structs.replace(asked, job_name=held.name, scratch=scratch)
    node = node_transport(held, name, login.environment)
    answer = ask_node(node, request, login.emit, login.settings, login.slurm)
    return msgspec.convert(answer, EnvironmentReady).file
