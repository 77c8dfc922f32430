"""Where a verb is done: here, on the login host, or on the node. What is typed is the same everywhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scratchflow.agent.request import Arguments
from scratchflow.cluster.whereami import role
from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.flows.served import ON_NODE, do_here
from scratchflow.model.errors import UsageInvalid
from scratchflow.model.events import Emit, Log
from scratchflow.model.results import RESULTS_BY_OP, Result

if TYPE_CHECKING:
    from scratchflow.ssh.transport import Transport


@dataclass(frozen=True)
class Caller:
    """Who asks: what the command line says, and whether there is somebody to ask back."""

    asked: Asked
    environment: Mapping[str, str]
    may_ask: bool = False
    verbose: bool = False

    def settings(self) -> Settings:
        """The profile that is meant."""
        return load_settings(self.asked, self.environment)


def is_here(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Whether the workspace is on this machine: there is no cluster, or we are in a job on its node."""
    return settings.profile.scheduler == "none" or role(environment) == "node"


def is_login_host(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Whether Slurm can be asked on this machine: then nothing has to be reached."""
    return settings.profile.login == "local" or role(environment) == "node"


def at_workspace(do: str, wish: Arguments, caller: Caller, emit: Emit) -> Result:
    """Does it where the workspace is, or, when the store is enough, where that can be seen."""
    settings = caller.settings()
    if not settings.exists:
        message = "no configuration file yet; using the built-in profile `local`"
        emit(Log(level="info", message=message))
    environment = caller.environment
    needs_scratch = ON_NODE[do].needs_scratch
    if is_here(settings, environment) or (
        not needs_scratch and is_login_host(settings, environment)
    ):
        return do_here(do, settings, wish, emit, wants_items=caller.verbose)
    _refuse_relative_paths(wish)
    if is_login_host(settings, environment):
        from scratchflow.flows.relaying import relay

        return relay(settings, do, wish, environment, emit, verbose=caller.verbose)
    from scratchflow.flows.reaching import reach_login

    with reach_login(settings, environment, emit, may_ask=caller.may_ask) as far:
        return ask_node(far, settings, do, wish, caller, emit)


def on_login(do: str, settings: Settings, wish: Arguments, caller: Caller, emit: Emit) -> Result:
    """Does it on the profile's login host."""
    if is_login_host(settings, caller.environment):
        return do_here(do, settings, wish, emit)
    from scratchflow.flows.reaching import reach_login

    with reach_login(settings, caller.environment, emit, may_ask=caller.may_ask) as far:
        return ask_login(far, settings, do, wish, emit)


def ask_login(far: Transport, settings: Settings, do: str, wish: Arguments, emit: Emit) -> Result:
    """Asks the agent at the other end of a connection to the login host."""
    import msgspec

    from scratchflow.flows.reaching import ask_agent

    data = ask_agent(far, settings, do, msgspec.to_builtins(wish), emit)
    return msgspec.convert(data, RESULTS_BY_OP[do])


def ask_node(
    far: Transport, settings: Settings, do: str, wish: Arguments, caller: Caller, emit: Emit
) -> Result:
    """Asks it to have something done on the node, or itself when it is about the store alone."""
    import msgspec

    from scratchflow.flows.reaching import ask_agent

    data = ask_agent(
        far,
        settings,
        do,
        msgspec.to_builtins(wish),
        emit,
        on_node=ON_NODE[do].needs_scratch,
        verbose=caller.verbose,
    )
    return msgspec.convert(data, RESULTS_BY_OP[do])


def _refuse_relative_paths(wish: Arguments) -> None:
    for field in wish.path_fields:
        path = getattr(wish, field)
        if path is not None and not os.path.isabs(path):
            problem = f"`{path}` would be a path on the node: give it in full"
            raise UsageInvalid(problem=problem, command="scratchflow")
