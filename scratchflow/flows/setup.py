"""`setup`: reach a cluster, put the agent there, write the profile and the ssh alias, check it all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from scratchflow.agent.delivery.install import Installed
from scratchflow.config.edit import Edit, apply_edits, plan_edits
from scratchflow.config.file import config_path
from scratchflow.config.settings import Asked, Settings, settings_in
from scratchflow.model.errors import (
    Declined,
)
from scratchflow.model.events import Emit
from scratchflow.model.results import Check, ChecksDone, ClusterSetUp
from scratchflow.reach.login import ask_agent, install_for, reach_login
from scratchflow.ssh.config import include
from scratchflow.ssh.config.alias import park_alias, read_alias
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.transport.base import Transport

# Shows a change and asks whether to make it.
Confirm = Callable[[str, str], bool]


class SetupOptions(msgspec.Struct, frozen=True):
    """Which cluster, under which name, and what is known about it already."""

    login: str
    name: str
    values: Mapping[str, str]
    dry_run: bool = False


def set_up(
    asked: Asked,
    environment: Mapping[str, str],
    emit: Emit,
    options: SetupOptions,
    confirm: Confirm,
    *,
    may_ask: bool,
) -> ClusterSetUp:
    """Nothing on this machine is written before the cluster answered; all of it can be run again."""
    place, _ = config_path(asked.config, environment)
    edit = plan_edits(place, _assignments(options))
    settings = _settings_after(edit, place, options)
    places = SshPaths.of(settings.profile.ssh_config)
    ssh_plan = include.plan_install(places)
    with reach_login(settings, environment, emit, may_ask=may_ask) as transport:
        reached_by = transport.describe()
        if options.dry_run:
            return _set_up(options, settings, reached_by, None, edit, place, ssh_plan.diff, [])
        installed = install_for(settings, transport, emit)
        checks = _ask_checks(transport, settings, emit)
    _write_profile(edit, place, options, confirm)
    _include(ssh_plan, confirm)
    checks.append(_park(places, settings))
    return _set_up(options, settings, reached_by, installed, edit, place, ssh_plan.diff, checks)


def _assignments(options: SetupOptions) -> dict[str, str]:
    values = {"login": options.login, **options.values}
    keys = {f"profiles.{options.name}.{key}": value for key, value in values.items() if value}
    return {**keys, "default_profile": options.name}


def _settings_after(edit: Edit, place: Path, options: SetupOptions) -> Settings:
    """The profile as it will be, so that it is tried before it is written."""
    return settings_in(edit.after, place, options.name)


def _ask_checks(transport: Transport, settings: Settings, emit: Emit) -> list[Check]:
    answer = ask_agent(transport, settings, "check", {}, emit)
    return list(msgspec.convert(answer, ChecksDone).checks)


def _write_profile(edit: Edit, place: Path, options: SetupOptions, confirm: Confirm) -> None:
    if edit.after == edit.before:
        return
    require(confirm, edit.diff(place), f"the profile `{options.name}`", "scratchflow config set")
    apply_edits(place, _assignments(options))


def _include(plan: include.Plan, confirm: Confirm) -> None:
    if not plan.changes:
        return
    what = "the change to your ssh config"
    require(confirm, plan.diff, what, f"put `{plan.places.include_line}` at its top")
    include.apply(plan)


def _park(places: SshPaths, settings: Settings) -> Check:
    """The alias exists from now on; one that leads somewhere is left alone."""
    alias = settings.profile.alias
    if read_alias(places, alias) is None:
        park_alias(places, alias)
    return Check(name="alias", ok=True, detail=f"`ssh {alias}` is ours")


def require(confirm: Confirm, diff: str, what: str, by_hand: str) -> None:
    """Shows a change and raises Declined unless it is agreed to."""
    if diff and not confirm(diff, what):
        raise Declined(what=what, by_hand=by_hand)


def _set_up(
    options: SetupOptions,
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
        login=options.login,
        reached_by=reached_by,
        agent=installed.path if installed else "",
        python=installed.python if installed else "",
        config_diff=edit.diff(place),
        ssh_config_diff=ssh_diff,
        checks=checks,
        dry_run=options.dry_run,
    )
