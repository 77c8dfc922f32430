"""Help for an account without a working key: one is made, shown or sent, and its way is cleared."""

from __future__ import annotations

from collections.abc import Mapping

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.asking import Asker
from scratchflow.flows.setup.table import shown_home, wrapped
from scratchflow.model.errors.agent import InstallFailed
from scratchflow.model.errors.ssh import AuthNeeded, KeyRefused
from scratchflow.model.events import Checked, Emit
from scratchflow.model.text import last_line, printable
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import ResolvedHost, resolve
from scratchflow.ssh.keys.key_files import key_files_of, public_line, usual_key_path
from scratchflow.ssh.keys.make_key import (
    LOOSE_SCRIPT,
    TIGHTEN_SCRIPT,
    authorize_script,
    loose_paths,
    make_key,
)
from scratchflow.ssh.transport.base import Transport
from scratchflow.ssh.transport.openssh import OpenSshTransport
from scratchflow.ssh.transport.openssh_login import key_is_refused

_TIMEOUT_S = 60.0


def help_with_keys(settings: Settings, refused: AuthNeeded, asker: Asker, again: str) -> None:
    """Returns when it is worth another try; raises what the host said when the user gives up."""
    if not isinstance(refused, KeyRefused):
        if not asker.confirm("Try to log in again?"):
            raise refused
        return
    public = _own_public_key(_host(settings), asker)
    if public is None:
        raise refused
    login = settings.profile.login
    where = (
        "Paste it into the page for ssh keys of your cluster's web portal, or send it to your"
        f" cluster's staff, or add it to ~/.ssh/authorized_keys on {printable(login)}. It may take a"
        " few minutes until it counts."
    )
    later = f"Ctrl-C stops here; `{printable(again)}` goes on later."
    asker.tell(["", "The cluster has to know your key. This line is its public half:"])
    asker.tell(["", public, "", *wrapped(where), *wrapped(later)])
    asker.text("Press Enter when the cluster has it")


def offer_key_login(
    settings: Settings,
    environment: Mapping[str, str],
    transport: Transport,
    emit: Emit,
    asker: Asker,
    *,
    wanted: bool,
) -> None:
    """After a login with a password: puts a key there, so that nothing has to be asked from now on.

    Without one, every program that cannot ask fails: VS Code, and ssh through the alias.
    """
    host = _host(settings)
    if not isinstance(transport, OpenSshTransport):
        return  # it never asks: a key was accepted
    if any(file.is_locked for file in key_files_of(host)) or not key_is_refused(host, environment):
        return
    question = "You are connected, but not with a key. Log in with a key from now on?"
    if not wanted and not asker.confirm(question):
        return
    public = _own_public_key(host, asker, wanted=wanted)
    if public is None:
        return
    _run(transport, authorize_script(public))
    if key_is_refused(host, environment):
        _clear_the_way(host, transport, asker)
    works = not key_is_refused(host, environment)
    detail = "accepted" if works else "still refused"
    fix = "" if works else f"`ssh -v {printable(host.name)}` shows why; ask your cluster's staff"
    emit(Checked(name="key", ok=works, detail=detail, fix=fix))


def _clear_the_way(host: ResolvedHost, transport: Transport, asker: Asker) -> None:
    """sshd passes over the keys of an account to whose files others may write."""
    loose = loose_paths(_run(transport, LOOSE_SCRIPT))
    if not loose:
        return
    paths = ", ".join(map(printable, loose))
    asker.tell([f"`{printable(host.name)}` ignores your keys: others may write to {paths}."])
    if not asker.can_ask or asker.confirm("Take that right from them (`chmod go-w`)?"):
        _run(transport, TIGHTEN_SCRIPT)


def _own_public_key(host: ResolvedHost, asker: Asker, *, wanted: bool = False) -> str | None:
    """The public half of a key that ssh would use for the host, made if need be."""
    for file in key_files_of(host):
        if line := public_line(file.path):
            return line
    path = usual_key_path(host)
    question = f"You have no ssh key. Make one ({shown_home(path)}, no passphrase)?"
    if not path.exists() and not (wanted or asker.confirm(question)):
        return None
    if not path.exists():
        make_key(path)
        asker.tell([f"✓ made the key {shown_home(path)}"])
    return public_line(path)


def _run(transport: Transport, script: bytes) -> bytes:
    done = transport.run(["sh", "-s"], stdin=script, timeout_s=_TIMEOUT_S)
    if done.returncode != 0:
        raise InstallFailed(host=transport.host, reason=last_line(done.stderr))
    return done.stdout


def _host(settings: Settings) -> ResolvedHost:
    places = SshPaths.of(settings.profile.ssh_config)
    config = places.config if places.config.exists() else None
    return resolve(settings.profile.login, config=config)
