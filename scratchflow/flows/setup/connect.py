"""The first connection to a login host: each way to fail in words, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.asking import Asker
from scratchflow.flows.setup.keys import help_with_keys, offer_key_login
from scratchflow.model.errors.ssh import AuthNeeded, HostNotFound
from scratchflow.model.events import Checked, Emit, Progress
from scratchflow.model.text import closest
from scratchflow.reach.login import reach_login
from scratchflow.ssh.config.hosts import hosts_in_config, why_passed_over
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import ResolvedHost, leads_nowhere, resolve
from scratchflow.ssh.transport.base import LOGIN_COMMAND, Transport


@contextmanager
def connected(
    settings: Settings,
    environment: Mapping[str, str],
    emit: Emit,
    asker: Asker,
    *,
    may_ask: bool,
    offer_key: bool,
    again: str,
) -> Iterator[Transport]:
    """A connection to the login host. A person without a working key is helped to one; `again` does it all once more."""
    login = settings.profile.login
    with ExitStack() as open_until:
        while True:
            emit(Progress(phase=f"connecting to {login}"))
            try:
                reaching = reach_login(settings, environment, emit, may_ask=may_ask)
                transport = open_until.enter_context(reaching)
                break
            except AuthNeeded as error:
                if not asker.can_ask:
                    raise _in_a_terminal(error, again) from None
                emit(Checked(name="login", ok=False, detail=str(error)))
                help_with_keys(settings, error, asker, again)
            except HostNotFound:
                raise _not_found(login, SshPaths.of(settings.profile.ssh_config)) from None
        emit(Checked(name="login", ok=True, detail=_described(settings)))
        if login != "local" and (asker.can_ask or offer_key):
            offer_key_login(settings, environment, transport, emit, asker, wanted=offer_key)
        yield transport


def _described(settings: Settings) -> str:
    login = settings.profile.login
    if login == "local":
        return "this machine is the login host"
    way = _way(login, SshPaths.of(settings.profile.ssh_config))
    return f"connected to `{login}` as {way.user}"


def _way(login: str, places: SshPaths) -> ResolvedHost:
    return resolve(login, config=places.config if places.config.exists() else None)


def require_found(login: str, places: SshPaths) -> None:
    """Raises HostNotFound when the name leads nowhere; nobody is logged in for that."""
    if login != "local" and leads_nowhere(_way(login, places)):
        raise _not_found(login, places)


def _not_found(login: str, places: SshPaths) -> HostNotFound:
    """The same with the hosts that there are: a mistyped name is the usual reason."""
    name = login.rpartition("@")[2]
    if why := why_passed_over(places, name):
        return HostNotFound(host=login, suggestion="", remedy=why)
    hosts = hosts_in_config(places)
    guess = closest(name, hosts)
    suggestion = f"; did you mean `{guess}`?" if guess else ""
    known = f"hosts in your ssh config: {', '.join(hosts[:8])}" if hosts else ""
    remedy = known or "type it as you would after `ssh`, like `me@login.cluster.example`"
    return HostNotFound(host=login, suggestion=suggestion, remedy=remedy)


def _in_a_terminal(error: AuthNeeded, again: str) -> AuthNeeded:
    """There is no profile yet, so the command that can ask for a password is `setup` itself."""
    if error.fields.get("command") != LOGIN_COMMAND:
        return error
    return AuthNeeded(**{**error.fields, "command": again})
