"""`profiles`: the clusters you have, as the configuration file names them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.config.check import check_config
from scratchflow.config.edit import Edit, Removals, apply_edits, plan_edits, remove_if_blank
from scratchflow.config.file import config_path, read_text, utf8_text
from scratchflow.config.own_names import own_names
from scratchflow.config.remembered import forget
from scratchflow.config.settings import (
    LOCAL,
    Asked,
    Settings,
    default_profile,
    file_profiles,
    load_settings,
    require_profile,
    settings_in,
)
from scratchflow.config.toml import parse_document
from scratchflow.dispatch.cluster import Caller, is_login_host
from scratchflow.flows.old_alias import alias_of_its_own
from scratchflow.flows.setup.own_entry import warn_of_new_alias
from scratchflow.flows.setup.removal.left_behind import left_of_profile
from scratchflow.flows.setup.removal.left_here import foreign_alias_left
from scratchflow.flows.setup.removal.traces import Traces, look_for_traces
from scratchflow.model.errors.allocation import AllocationHeld
from scratchflow.model.errors.base import Declined, ScratchflowError, UsageInvalid
from scratchflow.model.errors.config import ConfigProfileNeeded
from scratchflow.model.errors.ssh import CommandTimedOut
from scratchflow.model.events import Emit, Warned
from scratchflow.model.profile import Profile
from scratchflow.model.results.config import (
    ProfileRemoved,
    ProfileRow,
    ProfilesListed,
    ProfileWritten,
)
from scratchflow.model.results.status import AllocationShown
from scratchflow.ssh.config.alias import forget_host_keys, read_alias, remove_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.transport.base import Transport
from scratchflow.ssh.transport.local import LocalTransport

Environment = Mapping[str, str]
# Shows the change to the file and asks whether to make it.
Confirm = Callable[[str], bool]

# What the built-in profile differs in from a fresh one: a copy of it needs them in the file.
_OF_LOCAL = ("login", "scheduler", "scratch", "store")


def list_profiles(asked: Asked, environment: Environment) -> ProfilesListed:
    """Every profile; works also when none is chosen."""
    tables = file_profiles(asked, environment)
    try:
        used = load_settings(asked, environment).name
    except ConfigProfileNeeded:
        used = ""
    names = list(dict.fromkeys([*tables, LOCAL]))
    rows = [
        ProfileRow(
            name=name,
            is_used=name == used,
            login=profile.login,
            scheduler=profile.scheduler,
            alias=profile.alias,
            workspace=profile.workspace,
            store=profile.store,
            built_in=name not in tables,
            partition=profile.slurm.partition if profile.scheduler == "slurm" else "",
            time=profile.slurm.time if profile.scheduler == "slurm" else "",
            node=_node_of(name, profile),
        )
        for name in names
        for profile in [_profile(asked, environment, name)]
    ]
    return ProfilesListed(profiles=rows)


def use(asked: Asked, environment: Environment, name: str, *, dry_run: bool) -> ProfileWritten:
    """Makes it the default."""
    place, _ = config_path(asked.config, environment)
    return _write(place, name, {"default_profile": name}, dry_run=dry_run)


def add(
    asked: Asked,
    environment: Environment,
    emit: Emit,
    name: str,
    values: Mapping[str, str],
    *,
    dry_run: bool,
) -> ProfileWritten:
    """A new profile with these values, and an alias and a workspace of its own."""
    _require_new(asked, environment, name)
    place, _ = config_path(asked.config, environment)
    given = {key: value for key, value in values.items() if value}
    own = _own(asked, environment, place, name, given)
    return _write(place, name, own, dry_run=dry_run, emit=emit)


def copy(
    asked: Asked,
    environment: Environment,
    emit: Emit,
    source: str,
    name: str,
    values: Mapping[str, str],
    *,
    dry_run: bool,
) -> ProfileWritten:
    """A new profile with the values that the other one has in the file, and with these."""
    tables = file_profiles(asked, environment)
    require_profile(source, tables)
    _require_new(asked, environment, name)
    texts = dict(_texts(tables.get(source, {})))
    if source == LOCAL:
        built_in = _profile(asked, environment, LOCAL)
        texts = {**{key: getattr(built_in, key) for key in _OF_LOCAL}, **texts}
    place, _ = config_path(asked.config, environment)
    given = {**texts, **{key: value for key, value in values.items() if value}}
    chosen = {key for key, value in values.items() if value}
    own = _own(asked, environment, place, name, given, chosen)
    workspace = own.get(f"profiles.{name}.workspace", "")
    is_new = workspace not in {
        "",
        texts.get("workspace", _profile(asked, environment, source).workspace),
    }
    written = _write(place, name, own, dry_run=dry_run, emit=emit)
    return msgspec.structs.replace(written, new_workspace=workspace if is_new else "")


def remove(
    caller: Caller, emit: Emit, name: str, confirm: Confirm, *, dry_run: bool
) -> ProfileRemoved:
    """Takes the profile out of the file, and its alias away; nothing on the cluster is touched."""
    asked, environment = caller.asked, caller.environment
    tables = file_profiles(asked, environment)
    require_profile(name, tables)
    if name not in tables:
        problem = f"profile `{name}` is built in: there is nothing to remove"
        raise UsageInvalid(problem=problem, command="scratchflow profiles remove")
    settings = load_settings(Asked(config=asked.config, profile=name), environment)
    place, is_asked_for = config_path(asked.config, environment)
    removals: Removals = [("profiles", name)]
    default = default_profile(asked, environment)
    if default == name:
        default, removals = "", [*removals, ("default_profile",)]
    others = {one: _profile(asked, environment, one) for one in tables if one != name}
    synced, programs = _sync_of(place, others)
    removals = [*removals, *programs]
    edit = plan_edits(place, synced, removals)
    alias = alias_of_its_own(settings, others.values())
    traces, is_gone = None, False
    if not dry_run:
        traces = _require_released(caller, settings, emit).traces
        if not confirm(edit.diff(place)):
            what, by_hand = f"the removal of profile `{name}`", f"edit `{utf8_text(place)}`"
            raise Declined(what=what, by_hand=by_hand)
        apply_edits(place, synced, removals)
        # One that was asked for has to be there the next time.
        is_gone = not is_asked_for and remove_if_blank(place)
        places = SshPaths.of(settings.profile.ssh_config)
        if alias:
            remove_alias(places, alias)
        forget_host_keys(places, name, others)
        forget(name)
    foreign = [f"{one.what}; {one.how} removes it" for one in foreign_alias_left(settings)]
    return ProfileRemoved(
        profile=name,
        path=utf8_text(place),
        diff=edit.diff(place),
        stays=[*left_of_profile(settings, traces, others), *foreign],
        default_profile=default,
        alias=alias,
        file_removed=is_gone,
        dry_run=dry_run,
    )


def _sync_of(place: Path, profiles: Collection[str]) -> tuple[dict[str, str], Removals]:
    """What has to change in `[sync]` for it to name only these profiles: what is set, and what is taken out."""
    import tomlkit

    text = read_text(place, required=False) or ""
    options = check_config(parse_document(text, str(place)), str(place)).sync
    stay = {*profiles, LOCAL}
    programs = [("sync", "programs", one) for one in options.programs if one not in stay]
    if stay.issuperset(options.profiles):
        return {}, programs
    rest = [one for one in options.profiles if one in stay]
    return {"sync.profiles": tomlkit.item(rest).as_string()}, programs


def _profile(asked: Asked, environment: Environment, name: str) -> Profile:
    return load_settings(Asked(config=asked.config, profile=name), environment).profile


def _node_of(name: str, profile: Profile) -> str | None:
    """The node that the profile's alias leads to, without asking the cluster."""
    found = read_alias(SshPaths.of(profile.ssh_config), profile.alias)
    return found.node if isinstance(found, AliasTarget) and found.profile == name else None


def _require_new(asked: Asked, environment: Environment, name: str) -> None:
    if name in {*file_profiles(asked, environment), LOCAL}:
        problem = f"there is a profile `{name}` already; `scratchflow config set` changes it"
        raise UsageInvalid(problem=problem, command="scratchflow profiles")


def _own(
    asked: Asked,
    environment: Environment,
    place: Path,
    name: str,
    values: Mapping[str, str],
    chosen: set[str] | None = None,
) -> dict[str, str]:
    """The values, with names of its own where it would share them; those that were chosen stay. The default stays what it was."""
    assignments = {f"profiles.{name}.{key}": value for key, value in values.items()}
    profile = settings_in(plan_edits(place, assignments).after, place, name).profile
    names = {*file_profiles(asked, environment), LOCAL}
    others = [_profile(asked, environment, other) for other in sorted(names)]
    for key, value in own_names(name, profile, others).items():
        if key not in (values.keys() if chosen is None else chosen):
            assignments[f"profiles.{name}.{key}"] = value
    return assignments | _default_kept(asked, environment)


def _default_kept(asked: Asked, environment: Environment) -> dict[str, str]:
    """The file's only profile as its default: another one must not leave commands without `-p` asking which is meant."""
    names = list(file_profiles(asked, environment))
    is_needed = len(names) == 1 and not default_profile(asked, environment)
    return {"default_profile": names[0]} if is_needed else {}


def _texts(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The table's values as `config set` takes them, key by key."""
    import tomlkit

    for key, value in table.items():
        if isinstance(value, dict) and f"{prefix}{key}" != "environment.variables":
            yield from _texts(value, f"{prefix}{key}.")
        elif isinstance(value, dict):
            inline = tomlkit.inline_table()
            inline.update(value)
            yield f"{prefix}{key}", inline.as_string()
        else:
            text = value if isinstance(value, str) else tomlkit.item(value).as_string()
            yield f"{prefix}{key}", text


def _write(
    place: Path,
    name: str,
    assignments: Mapping[str, str],
    *,
    dry_run: bool,
    emit: Emit | None = None,
) -> ProfileWritten:
    """The change to the file. `emit`: of a profile that is new."""
    edit: Edit = (plan_edits if dry_run else apply_edits)(place, assignments)
    if emit:
        warn_of_new_alias(place, name, edit, emit)
    return ProfileWritten(
        profile=name,
        path=utf8_text(place),
        changed=edit.after != edit.before,
        diff=edit.diff(place),
        dry_run=dry_run,
    )


class _Seen(msgspec.Struct, frozen=True):
    """The profile's open jobs, and what was made for it on the cluster; None when nobody looked."""

    jobs: list[AllocationShown] = []
    traces: Traces | None = None


def _require_released(caller: Caller, settings: Settings, emit: Emit) -> _Seen:
    """Refuses while the profile holds a node; warns where nobody can say."""
    try:
        seen = _look(caller, settings, emit)
    except ScratchflowError as error:
        message = f"cannot tell whether profile `{settings.name}` holds a node: {error}"
        emit(Warned(code="profile.not_asked", message=message))
        return _Seen()
    if seen.jobs:
        node = seen.jobs[-1].node or "a place in the queue"
        number = seen.jobs[-1].job_id or "of tmux"
        raise AllocationHeld(job_id=number, node=node, profile=settings.name)
    return seen


def _look(caller: Caller, settings: Settings, emit: Emit) -> _Seen:
    """Where there is no agent none is put there: no job can be ours."""
    from scratchflow.agent.request import asking
    from scratchflow.dispatch.operations import do_here
    from scratchflow.model.errors.agent import AgentMissing
    from scratchflow.model.profile import to_plain
    from scratchflow.model.requests import OpenJobs
    from scratchflow.model.results.status import JobsShown
    from scratchflow.reach.login import ask_once, reach_login

    if is_login_host(settings, caller.environment):
        done = do_here("jobs open", settings, OpenJobs(), emit)
        jobs = done.jobs if isinstance(done, JobsShown) else []
        return _Seen(jobs, _traces(LocalTransport(), settings))
    request = asking(
        "jobs open", {}, profile_name=settings.name, profile=to_plain(settings.profile)
    )
    may_ask = caller.may_ask
    with reach_login(settings, caller.environment, emit, may_ask=may_ask) as transport:
        traces = _traces(transport, settings)
        try:
            answer = ask_once(transport, request, emit)
        except AgentMissing:
            return _Seen([], traces)
    return _Seen(list(msgspec.convert(answer, JobsShown).jobs), traces)


def _traces(transport: Transport, settings: Settings) -> Traces | None:
    """None when the store is on a server that is away."""
    try:
        return look_for_traces(transport, [settings.profile.store])
    except CommandTimedOut:
        return None
