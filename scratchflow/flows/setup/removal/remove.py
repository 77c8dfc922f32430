"""`setup --remove`: takes back what `setup` did for one profile, and leaves what other profiles use."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import msgspec

from scratchflow.agent.delivery.install import uninstall
from scratchflow.agent.request import asking
from scratchflow.config.file import config_path
from scratchflow.config.settings import (
    LOCAL,
    Asked,
    Settings,
    given_settings,
    load_settings,
    sync_options,
)
from scratchflow.flows.setup.asking import Asker, require_agreement
from scratchflow.flows.setup.profiles import known_profiles, name_for
from scratchflow.flows.setup.removal.held import (
    kept_for_nodes,
    require_parked,
    require_released,
)
from scratchflow.flows.setup.removal.in_use import InUse, who_uses_agent
from scratchflow.flows.setup.removal.left_behind import left_behind
from scratchflow.flows.setup.removal.left_here import places_left_here
from scratchflow.flows.setup.removal.shared import (
    Shared,
    agent_and_notes,
    kept_for_others,
    of_other_files,
    shared_with,
)
from scratchflow.flows.setup.removal.traces import Traces, look_for_traces
from scratchflow.flows.setup.table import shown_home
from scratchflow.model.errors.agent import AgentMismatch, AgentMissing
from scratchflow.model.errors.base import ScratchflowError, UsageInvalid
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.errors.ssh import CommandTimedOut, ConnectionLost
from scratchflow.model.events import Emit, Progress
from scratchflow.model.profile import LOGIN_PATTERN, Profile, to_plain
from scratchflow.model.requests import Arguments, OpenJobs
from scratchflow.model.results.setup import SetupRemoved
from scratchflow.model.results.status import AllocationShown, JobsShown
from scratchflow.model.text import printable
from scratchflow.reach.login import ask_once, end_shared_login, reach_login
from scratchflow.ssh.config import include
from scratchflow.ssh.config.alias import our_aliases, read_alias, remove_alias, remove_files
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.transport.base import Transport


class RemoveOptions(msgspec.Struct, frozen=True):
    """Which cluster (empty: the profile's), whether to only show it, and whether to pass over what
    other profiles use."""

    login: str = ""
    dry_run: bool = False
    all_profiles: bool = False


def remove(
    asked: Asked,
    environment: Mapping[str, str],
    emit: Emit,
    asker: Asker,
    options: RemoveOptions,
    *,
    may_ask: bool,
) -> SetupRemoved:
    """Takes the alias away, and what no other profile needs: our lines in the ssh config, the agent.

    The store stays as it is.
    """
    settings = _meant(asked, environment, options.login)
    of_file = _profiles_of_file(asked, environment)
    profiles = {name: one for name, one in of_file.items() if name != settings.name}
    strangers = of_other_files(settings.profile, {settings.name, *of_file})
    others = Shared()
    if not options.all_profiles:
        others = shared_with(settings.profile, profiles, strangers)
    places = SshPaths.of(settings.profile.ssh_config)
    plan = include.plan_remove(places)
    diff = "" if others.of_ssh_config else plan.diff
    kept = kept_for_others(settings.name, settings.profile, others, of_file)
    is_cluster = settings.profile.scheduler == "slurm"
    going = _of_login(profiles, settings) if options.all_profiles else {}
    elsewhere = _on_other_hosts(settings, profiles) if options.all_profiles else []
    if options.dry_run:
        kept += [*elsewhere, *kept_for_nodes({settings.name: settings.profile, **going})]
        removes = _removed_in_words(settings, others, profiles, diff, has_agent=is_cluster)
        return SetupRemoved(
            ssh_config_diff=diff, agent_removed=False, kept=kept, removes=removes, dry_run=True
        )
    reached = _Reached(settings, environment, emit, may_ask=may_ask)
    in_use = reached.require_released(profiles, going) if is_cluster else InUse()
    if reached.silence:
        require_parked({settings.name: settings.profile, **going}, reached.silence)
    # Where nobody could be asked, there may be one.
    is_there = is_cluster and (reached.traces is None or bool(reached.traces.agents))
    has_agent = is_there and not in_use
    removes = _removed_in_words(settings, others, profiles, diff, has_agent=has_agent)
    _require_agreement(asker, diff, removes, elsewhere)
    here = _removed_in_words(settings, others, profiles, diff, has_agent=False)
    if not others.of_alias:
        remove_alias(places, settings.profile.alias)
    if not others.of_ssh_config:
        include.apply(plan)
        remove_files(places)
    kept += _kept_for_jobs(settings, others, list(who_uses_agent(in_use, profiles)))
    has_agent = settings.profile.scheduler == "slurm" and not others.of_login and not in_use
    try:
        if has_agent:
            reached.uninstall()
    except ConnectionLost as error:
        if here:
            error.add_step(f"on this machine, {' and '.join(here)} went already")
        raise
    finally:
        if not others.of_login:
            end_shared_login(settings, environment)
    # Only now: what was taken away above, like our copy of the ssh config, is not left.
    left = (
        []
        if is_cluster
        else [*places_left_here(settings, _others_here(asked, environment, settings.name))]
    )
    left += left_behind(
        settings,
        reached.traces,
        profiles,
        all_profiles=options.all_profiles,
        in_use=in_use,
        synced=_synced(asked, environment),
        strangers=sorted({*strangers.values()}),
    )
    return SetupRemoved(
        ssh_config_diff=diff, agent_removed=has_agent, kept=kept, removes=removes, left=left
    )


def _meant(asked: Asked, environment: Mapping[str, str], login: str) -> Settings:
    """The profile of that login host, or of that name; a host without one is looked at all the same."""
    if not login:
        return load_settings(asked, environment)
    if not re.fullmatch(LOGIN_PATTERN, login):
        problem = f"`{login}` is not a host as ssh takes it, like `me@login.cluster.example`"
        raise UsageInvalid(problem=problem, command="scratchflow setup --remove")
    place, _ = config_path(asked.config, environment)
    known = known_profiles(place)
    names = known.at(login) or [name for name in known.clusters() if name == login]
    if not names:
        return given_settings(name_for(login, "", known.profiles), {"login": login}, "LOGIN")
    name = asked.profile if asked.profile in names else names[0]
    return load_settings(msgspec.structs.replace(asked, profile=name), environment)


def _removed_in_words(
    settings: Settings,
    others: Shared,
    profiles: Mapping[str, Profile],
    diff: str,
    *,
    has_agent: bool,
) -> list[str]:
    """Everything that a yes does."""
    profile = settings.profile
    places = SshPaths.of(profile.ssh_config)
    login = printable(profile.login)
    on_host = {settings.name, *_of_login(profiles, settings)}
    aliases = [
        f"the ssh alias `{name}`{_to_node(places, name, on_host, profiles)}"
        for name in _lost_aliases(profile, places, others)
    ]
    does = {
        f"our lines from {printable(shown_home(places.config))}": bool(diff),
        **dict.fromkeys(aliases, True),
        f"the agent and our notes on `{login}`": has_agent and not others.of_login,
    }
    return [what for what, is_done in does.items() if is_done]


def _lost_aliases(profile: Profile, places: SshPaths, others: Shared) -> list[str]:
    """This profile's; all of this ssh config, when no profile keeps our lines in it."""
    if not others.of_ssh_config:
        return our_aliases(places)
    is_there = not others.of_alias and read_alias(places, profile.alias) is not None
    return [profile.alias] if is_there else []


def _to_node(
    places: SshPaths, alias: str, on_host: Collection[str], profiles: Collection[str]
) -> str:
    """Where it leads, if that is a node of another cluster or file, which nobody asks whether it is held."""
    found = read_alias(places, alias)
    if not isinstance(found, AliasTarget) or found.profile in on_host:
        return ""
    config = "" if found.profile in profiles else "--config FILE "
    clear = f"`scratchflow {config}-p {found.profile} clear` saves its workspace and gives it back"
    return f", which leads to `{found.node}` of profile `{found.profile}`: {clear}"


def _on_other_hosts(settings: Settings, profiles: Mapping[str, Profile]) -> list[str]:
    """What stays although all profiles go: only this profile's login host is reached."""
    by_login: dict[str, str] = {}
    for name, profile in profiles.items():
        if profile.login not in {settings.profile.login, LOCAL}:
            by_login.setdefault(profile.login, name)
    return [
        f"the agent and our notes on `{login}`, of profile `{name}`:"
        f" `scratchflow -p {name} setup --remove` removes them"
        for login, name in by_login.items()
    ]


def _synced(asked: Asked, environment: Mapping[str, str]) -> list[str]:
    """The profiles that `[sync]` names; none when one of them does not exist."""
    try:
        return sync_options(asked, environment).profiles
    except ScratchflowError:
        return []


def _require_agreement(asker: Asker, diff: str, removes: list[str], stays: list[str]) -> None:
    if not removes:
        return
    if asker.can_ask:
        shown = [diff, ""] if diff else []
        shown += ["This removes:", *(f"  {what}" for what in removes)]
        shown += ["This stays:", *(f"  {what}" for what in stays)] if stays else []
        asker.tell(shown)
    by_hand = "delete what is named above"
    require_agreement(asker, "Remove this?", "the removal", by_hand, default=False)


class _Reached:
    """The login host of the profile, for the questions that come before anything is removed."""

    def __init__(
        self, settings: Settings, environment: Mapping[str, str], emit: Emit, *, may_ask: bool
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._emit = emit
        self._may_ask = may_ask
        self.traces: Traces | None = None
        self.silence: ConnectionLost | None = None

    def require_released(
        self, others: Mapping[str, Profile], going: Mapping[str, Profile]
    ) -> InUse:
        """Refuses while the profile holds a node, or one that goes with it; else what else of this account needs the agent.

        The auto-backups of other profiles run from it, and submitted jobs of any profile start with it. Where nobody can be asked, by us or at all,
        there is nothing to refuse for.
        """
        try:
            ours, in_use = self._open_jobs(others)
        except ConnectionLost as silence:
            self.silence = silence
            return InUse()
        except (AgentMissing, AgentMismatch, SlurmUnreachable):
            return InUse()
        require_released(self._settings.name, ours, in_use, others, going)
        return in_use

    def _open_jobs(self, others: Mapping[str, Profile]) -> tuple[list[AllocationShown], InUse]:
        """The profile's own, and all else that is in use; looks for what is left there on the way."""
        self._emit(Progress(phase=f"connecting to {self._settings.profile.login}"))
        with self._login() as transport:
            self._emit(Progress(phase="looking for what is there"))
            with suppress(CommandTimedOut):  # a store on a server that is away
                self.traces = look_for_traces(transport, self._stores(others))
            self._emit(Progress(phase="looking for jobs"))
            ours = self._jobs(transport, OpenJobs()).jobs
            return ours, InUse.of(self._jobs(transport, OpenJobs(any_profile=True)))

    def _stores(self, others: Mapping[str, Profile]) -> list[str]:
        """Those of every profile that uses this login host, this one's first."""
        profile = self._settings.profile
        theirs = [other.store for other in others.values() if other.login == profile.login]
        return list(dict.fromkeys([profile.store, *theirs]))

    def uninstall(self) -> None:
        self._emit(Progress(phase="removing the agent"))
        with self._login() as transport:
            uninstall(transport)

    def _login(self) -> AbstractContextManager[Transport]:
        return reach_login(self._settings, self._environment, self._emit, may_ask=self._may_ask)

    def _jobs(self, transport: Transport, options: OpenJobs) -> JobsShown:
        answer = self._asked(transport, "jobs open", options)
        return msgspec.convert(answer, JobsShown)

    def _asked(self, transport: Transport, do: str, arguments: Arguments) -> dict[str, Any]:
        """What the agent says that is there; none is brought."""
        request = asking(
            do,
            msgspec.to_builtins(arguments),
            profile_name=self._settings.name,
            profile=to_plain(self._settings.profile),
        )
        return ask_once(transport, request, self._emit)


def _profiles_of_file(asked: Asked, environment: Mapping[str, str]) -> dict[str, Profile]:
    """The clusters' profiles of the file."""
    place, _ = config_path(asked.config, environment)
    return known_profiles(place).clusters()


def _others_here(asked: Asked, environment: Mapping[str, str], name: str) -> dict[str, Profile]:
    """The file's other profiles without a cluster."""
    known = known_profiles(config_path(asked.config, environment)[0])
    away = {name, *known.clusters()}
    return {one: profile for one, profile in known.profiles.items() if one not in away}


def _of_login(profiles: Mapping[str, Profile], settings: Settings) -> dict[str, Profile]:
    """Those of the same login host."""
    login = settings.profile.login
    return {name: profile for name, profile in profiles.items() if profile.login == login}


def _kept_for_jobs(settings: Settings, others: Shared, users: Sequence[str]) -> list[str]:
    """Where the agent stays for other profiles, it stays whatever becomes of the jobs."""
    if others.of_login:
        return []
    agent = agent_and_notes(settings.profile)
    again = f"`scratchflow -p {settings.name} setup --remove`"
    return [f"{agent}: {who}; when no job uses it any more, {again} removes it" for who in users]
