"""Which login host and which profile are meant, when the command line does not say all of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from scratchflow.config.file import config_path
from scratchflow.config.settings import LOCAL, PROFILE_VARIABLE, Settings
from scratchflow.dispatch.cluster import Caller, is_login_host
from scratchflow.flows.setup.asking import Asker
from scratchflow.flows.setup.profiles import Known, known_profiles
from scratchflow.model.errors.base import ScratchflowError, UsageInvalid
from scratchflow.model.errors.config import ClusterMissing, ConfigProfileNeeded, NameOfThisMachine
from scratchflow.model.errors.ssh import HostNotFound
from scratchflow.model.events import Emit, Log
from scratchflow.model.profile import LOGIN_PATTERN, Profile
from scratchflow.model.requests import Hold
from scratchflow.model.results.setup import ClusterSetUp, HostsListed
from scratchflow.model.text import printable
from scratchflow.reach.login import is_set_up
from scratchflow.ssh.config.hosts import hosts_in_config
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.workspace.workspace import find_workspace

if TYPE_CHECKING:
    from scratchflow.flows.setup.draft import SetupOptions

NO_VALUES: Mapping[str, str] = {}
_MOST_HOSTS = 9
_THIS_MACHINE = "this machine itself: it has Slurm's commands"


def set_up_chosen(caller: Caller, emit: Emit, options: SetupOptions, asker: Asker) -> ClusterSetUp:
    """`setup`: with a login host, with a profile of the file, or with what the user chooses."""
    known = _known(caller)
    name = options.name or caller.asked.profile or ""
    if name == LOCAL and LOCAL not in known.clusters():
        raise NameOfThisMachine(name=name, login=options.login or "LOGIN")
    login = options.login or _login_of(known, name, caller, asker)
    _require_host(login)
    if not options.login and not name:
        name = (known.at(login) or [""])[0]
    from scratchflow.flows.setup.draft import with_flags
    from scratchflow.flows.setup.setup import set_up

    chosen = msgspec.structs.replace(options, login=login, name=name)
    try:
        return set_up(caller.asked, caller.environment, emit, chosen, asker, may_ask=caller.may_ask)
    except ScratchflowError as error:
        # `-p` is put into every hint; what else was typed, only this one knows.
        typed = msgspec.structs.replace(options, login=login)
        error.rephrase(lambda text: with_flags(text, typed))
        raise


def list_hosts(login: str = "") -> HostsListed:
    """What a login host can be chosen from; any other one can be typed.

    With a name that one alone; HostNotFound when it leads nowhere.
    """
    if not login:
        return HostsListed(hosts=_hosts())
    from scratchflow.flows.setup.connect import require_found

    _require_host(login)
    require_found(login, SshPaths.of(Profile().ssh_config))
    return HostsListed(hosts=[login])


def _require_host(login: str) -> None:
    if problem := _no_host(login):
        raise UsageInvalid(problem=problem, command="scratchflow setup")


def _no_host(login: str) -> str:
    """What is wrong with it as the name of a host; empty when nothing is."""
    if re.fullmatch(LOGIN_PATTERN, login):
        return ""
    return f"`{login}` is not a host as ssh takes it, like `me@login.cluster.example`"


def ready_to_work(
    caller: Caller,
    emit: Emit,
    login: str,
    asker: Asker,
    *,
    local: bool,
    values: Mapping[str, str] = NO_VALUES,
) -> Caller:
    """`up`: the caller with a profile that is set up on this machine, set up now if need be.

    `values` are for a profile that is not there yet, as `setup` would write them.
    """
    if local:
        return _on_this_machine(caller, emit)
    if login:
        return _ready_at(caller, emit, login, asker, values)
    settings = caller.settings()
    if settings.profile.scheduler == "slurm":
        return _ready(caller, settings, emit, asker)
    if _means_this_machine(settings, caller):
        return caller
    if not asker.can_ask:
        raise ClusterMissing
    asker.tell(["No cluster is set up on this machine yet."])
    choices = ["set up a cluster", "work on this machine alone, without a cluster"]
    if asker.choose("What would you like to do?", choices) == choices[1]:
        return _on_this_machine(caller, emit)
    return _set_up_for_work(caller, emit, _options("", values=values), asker)


def foretold_set_up(
    caller: Caller,
    emit: Emit,
    login: str,
    asker: Asker,
    request: Hold,
    *,
    values: Mapping[str, str] = NO_VALUES,
) -> ClusterSetUp | None:
    """`up --dry-run`: the set-up that would come first, shown and not done; None when none would."""
    known = _known(caller)
    if login and not known.at(login) and login not in known.profiles:
        options = _options(login, caller.asked.profile or "", values)
    else:
        settings = _with_login(caller, known, login).settings()
        is_ready = is_login_host(settings, caller.environment) or is_set_up(settings)
        if settings.profile.scheduler != "slurm" or is_ready:
            return None
        options = _options(settings.profile.login, settings.name)
    options = msgspec.structs.replace(options, dry_run=True, request=request)
    return set_up_chosen(caller, emit, options, asker)


def _options(login: str, name: str = "", values: Mapping[str, str] = NO_VALUES) -> SetupOptions:
    """For a cluster that has to be set up; what that takes is loaded only then."""
    from scratchflow.flows.setup.draft import SetupOptions

    return SetupOptions(login=login, name=name, values=values)


def _with_login(caller: Caller, known: Known, login: str) -> Caller:
    """The caller with the profile that LOGIN means: one of that host, or of that name."""
    names = known.at(login)
    if not login or caller.asked.profile in names:
        return caller
    return _with_profile(caller, names[0] if names else login)


def _on_this_machine(caller: Caller, emit: Emit) -> Caller:
    """Without a cluster. Other commands mean it too, as long as they have no other profile to mean."""
    when = "when a cluster is set up, " if not _known(caller).profiles else ""
    message = f"{when}commands reach this one with `-p {LOCAL}`: `scratchflow -p {LOCAL} status`"
    emit(Log(level="info", message=message))
    return _with_profile(caller, LOCAL)


def _ready_at(
    caller: Caller, emit: Emit, login: str, asker: Asker, values: Mapping[str, str]
) -> Caller:
    known = _known(caller)
    names = known.at(login)
    if not names and login in known.profiles:  # a profile's name, where a host was expected
        return _ready(_with_profile(caller, login), None, emit, asker)
    name = caller.asked.profile or (names[0] if names else "")
    if name in names:
        return _ready(_with_profile(caller, name), None, emit, asker)
    return _set_up_for_work(caller, emit, _options(login, name, values), asker)


def _ready(caller: Caller, settings: Settings | None, emit: Emit, asker: Asker) -> Caller:
    """A profile that is in the file. One that was never set up here, or only half, is set up now."""
    settings = settings or caller.settings()
    if is_login_host(settings, caller.environment) or is_set_up(settings):
        return caller
    if not asker.can_ask and not asker.agrees:
        return caller  # whoever needs the alias says what is missing
    options = _options(settings.profile.login, settings.name)
    return _set_up_for_work(caller, emit, options, asker)


def _set_up_for_work(caller: Caller, emit: Emit, options: SetupOptions, asker: Asker) -> Caller:
    done = set_up_chosen(caller, emit, options, asker)
    if not done.is_default:
        emit(Log(level="info", message=f"next time: `scratchflow -p {done.profile} up`"))
    return _with_profile(caller, done.profile)


def _means_this_machine(settings: Settings, caller: Caller) -> bool:
    """Whether somebody chose to work without a cluster: by name, in the file, or by doing so before."""
    known = _known(caller)
    if caller.asked.profile or caller.environment.get(PROFILE_VARIABLE) or known.default:
        return True
    if settings.name in known.profiles:
        return True
    return find_workspace(settings.profile, caller.environment).path.is_dir()


def _login_of(known: Known, name: str, caller: Caller, asker: Asker) -> str:
    """The login host of a profile that is there; with none, the one that the user chooses."""
    if name:
        if name not in known.profiles:
            problem = f"there is no profile `{name}` yet: which login host is it for?"
            raise UsageInvalid(problem=problem, command="scratchflow setup LOGIN")
        return known.profiles[name].login
    clusters = known.clusters()
    if known.default in clusters:
        return clusters[known.default].login
    if len(clusters) == 1:
        return next(iter(clusters.values())).login
    if clusters:
        path, _ = config_path(caller.asked.config, caller.environment)
        raise ConfigProfileNeeded(path=path, known=", ".join(clusters))
    return _chosen_login(asker, caller.environment)


def _chosen_login(asker: Asker, environment: Mapping[str, str]) -> str:
    if not asker.can_ask:
        problem = "which login host? `LOGIN` is missing, and no profile is there to set up again"
        raise UsageInvalid(problem=problem, command="scratchflow setup")
    while True:
        login = _asked_login(asker, environment)
        problem = _leads_nowhere(login)
        if not problem:
            return login
        from scratchflow.flows.setup.table import wrapped

        asker.tell(wrapped(printable(problem)))


def _leads_nowhere(login: str) -> str:
    """Why nobody could be asked by that name; empty when the first connection will tell."""
    from scratchflow.flows.setup.connect import require_found  # few need it

    if problem := _no_host(login):
        return problem
    try:
        require_found(login, SshPaths.of(Profile().ssh_config))
    except HostNotFound as error:
        return f"{error}; {error.shown_hint}"
    return ""


def _asked_login(asker: Asker, environment: Mapping[str, str]) -> str:
    hosts = _hosts()[:_MOST_HOSTS]
    here = [_THIS_MACHINE] if shutil.which("sinfo", path=environment.get("PATH")) else []
    if not hosts and not here:
        return asker.text("The cluster's login host, as you type it after `ssh`")
    asker.tell(["", "Your ssh config knows these hosts. Which one is the cluster's login host?"])
    question = "A number, or another host as you type it after `ssh`"
    answer = asker.choose(question, [*hosts, *here], takes_text=True)
    return LOCAL if answer == _THIS_MACHINE else answer


def _hosts() -> list[str]:
    return hosts_in_config(SshPaths.of(Profile().ssh_config))


def _known(caller: Caller) -> Known:
    path, _ = config_path(caller.asked.config, caller.environment)
    return known_profiles(path)


def _with_profile(caller: Caller, name: str) -> Caller:
    asked = msgspec.structs.replace(caller.asked, profile=name)
    return msgspec.structs.replace(caller, asked=asked)
