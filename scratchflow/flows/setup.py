"""`setup`: reach a cluster, put the agent there, write the profile and the ssh alias, check it all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.agent.client import call
from scratchflow.agent.install import Installed, agent_command, install, uninstall
from scratchflow.agent.request import asking
from scratchflow.config.edit import Edit, apply_edits, plan_edits
from scratchflow.config.file import config_path
from scratchflow.config.settings import Asked, Settings, load_settings, settings_in
from scratchflow.flows.reaching import ask_agent, reach_login
from scratchflow.model.errors import (
    AgentMismatch,
    AgentMissing,
    AllocationHeld,
    ConnectionLost,
    Declined,
    SlurmUnreachable,
)
from scratchflow.model.events import Emit
from scratchflow.model.profile import to_plain
from scratchflow.model.results import Check, ChecksDone, ClusterSetUp, JobsShown, SetupRemoved
from scratchflow.ssh import include
from scratchflow.ssh.alias import park_alias, read_alias, remove_alias, remove_files
from scratchflow.ssh.places import SshPlaces
from scratchflow.ssh.transport import Transport

# Shows a change and asks whether to make it.
Confirm = Callable[[str, str], bool]


class SetupWish(msgspec.Struct, frozen=True):
    """Which cluster, under which name, and what is known about it already."""

    login: str
    name: str
    values: Mapping[str, str]
    dry_run: bool = False


def set_up(
    asked: Asked,
    environment: Mapping[str, str],
    emit: Emit,
    wish: SetupWish,
    confirm: Confirm,
    *,
    may_ask: bool,
) -> ClusterSetUp:
    """Nothing on this machine is written before the cluster answered; all of it can be run again."""
    place, _ = config_path(asked.config, environment)
    edit = plan_edits(place, _assignments(wish))
    settings = _settings_after(edit, place, wish)
    places = SshPlaces.of(settings.profile.ssh_config)
    ssh_plan = include.plan_install(places)
    with reach_login(settings, environment, emit, may_ask=may_ask) as far:
        reached_by = far.describe()
        if wish.dry_run:
            return _set_up(wish, settings, reached_by, None, edit, place, ssh_plan.diff, [])
        installed = _install(far, settings, emit)
        checks = _ask_checks(far, settings, emit)
    _write_profile(edit, place, wish, confirm)
    _include(ssh_plan, confirm)
    checks.append(_park(places, settings))
    return _set_up(wish, settings, reached_by, installed, edit, place, ssh_plan.diff, checks)


def remove(
    asked: Asked,
    environment: Mapping[str, str],
    emit: Emit,
    confirm: Confirm,
    *,
    dry_run: bool,
    may_ask: bool,
) -> SetupRemoved:
    """Takes our lines out of the ssh config, our ssh files away, and the agent off the cluster."""
    settings = load_settings(asked, environment)
    places = SshPlaces.of(settings.profile.ssh_config)
    plan = include.plan_remove(places)
    if dry_run:
        return SetupRemoved(ssh_config_diff=plan.diff, agent_removed=False, dry_run=True)
    has_agent = settings.profile.scheduler == "slurm"
    if has_agent:
        _refuse_while_held(settings, environment, emit, may_ask=may_ask)
    _require(confirm, plan.diff, "the change to your ssh config", "remove the marked lines")
    include.apply(plan)
    remove_alias(places, settings.profile.alias)
    remove_files(places)
    if has_agent:
        with reach_login(settings, environment, emit, may_ask=may_ask) as far:
            uninstall(far)
    return SetupRemoved(ssh_config_diff=plan.diff, agent_removed=has_agent)


def _refuse_while_held(
    settings: Settings, environment: Mapping[str, str], emit: Emit, *, may_ask: bool
) -> None:
    """The auto-backup of a held node runs from the agent that is to go, and the alias leads there.

    Where nobody can be asked, by us or at all, there is nothing to refuse for.
    """
    request = asking(
        "jobs open", {}, profile_name=settings.name, profile=to_plain(settings.profile)
    )
    with suppress(ConnectionLost, AgentMissing, AgentMismatch, SlurmUnreachable):
        with reach_login(settings, environment, emit, may_ask=may_ask) as far:
            told = call(far, request, emit, command=agent_command())
        jobs = msgspec.convert(told, JobsShown).jobs
        if jobs:
            raise AllocationHeld(
                job_id=jobs[-1].job_id, node=jobs[-1].node or "a place in the queue"
            )


def _assignments(wish: SetupWish) -> dict[str, str]:
    values = {"login": wish.login, **wish.values}
    keys = {f"profiles.{wish.name}.{key}": value for key, value in values.items() if value}
    return {**keys, "default_profile": wish.name}


def _settings_after(edit: Edit, place: Path, wish: SetupWish) -> Settings:
    """The profile as it will be, so that it is tried before it is written."""
    return settings_in(edit.after, place, wish.name)


def _install(far: Transport, settings: Settings, emit: Emit) -> Installed:
    modules = settings.profile.environment.modules
    return install(far, profile_name=settings.name, modules=modules, emit=emit)


def _ask_checks(far: Transport, settings: Settings, emit: Emit) -> list[Check]:
    told = ask_agent(far, settings, "check", {}, emit)
    return list(msgspec.convert(told, ChecksDone).checks)


def _write_profile(edit: Edit, place: Path, wish: SetupWish, confirm: Confirm) -> None:
    if edit.after == edit.before:
        return
    _require(confirm, edit.diff(place), f"the profile `{wish.name}`", "scratchflow config set")
    apply_edits(place, _assignments(wish))


def _include(plan: include.Plan, confirm: Confirm) -> None:
    if not plan.changes:
        return
    what = "the change to your ssh config"
    _require(confirm, plan.diff, what, f"put `{plan.places.include_line}` at its top")
    include.apply(plan)


def _park(places: SshPlaces, settings: Settings) -> Check:
    """The alias exists from now on; one that leads somewhere is left alone."""
    alias = settings.profile.alias
    if read_alias(places, alias) is None:
        park_alias(places, alias)
    return Check(name="alias", ok=True, detail=f"`ssh {alias}` is ours")


def _require(confirm: Confirm, diff: str, what: str, by_hand: str) -> None:
    if diff and not confirm(diff, what):
        raise Declined(what=what, by_hand=by_hand)


def _set_up(
    wish: SetupWish,
    settings: Settings,
    reached_by: str,
    installed: Installed | None,
    edit: Edit,
    place: Path,
    ssh_diff: str,
    checks: list[Check],
) -> ClusterSetUp:
    return ClusterSetUp(
        profile=settings.name,
        login=wish.login,
        reached_by=reached_by,
        agent=installed.path if installed else "",
        python=installed.python if installed else "",
        config_diff=edit.diff(place),
        ssh_config_diff=ssh_diff,
        checks=checks,
        dry_run=wish.dry_run,
    )
