"""The alias that a profile had: its file goes with it, unless another profile uses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from scratchflow.config.check import check_config
from scratchflow.config.edit import Edit
from scratchflow.config.settings import Settings, settings_in
from scratchflow.config.toml import parse_document
from scratchflow.model.profile import Profile
from scratchflow.ssh.config.alias import park_alias, read_alias, remove_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.paths import SshPaths


def alias_of_its_own(settings: Settings, others: Iterable[Profile]) -> str | None:
    """The profile's alias, if we wrote its file and no other profile uses it."""
    profile = settings.profile
    places = SshPaths.of(profile.ssh_config)
    if read_alias(places, profile.alias) is None:
        return None
    if any(_has_alias(other, profile.alias, places) for other in others):
        return None
    return profile.alias


def _hand_over(settings: Settings, others: Mapping[str, Profile]) -> None:
    """Parks an alias that another profile uses too, while it leads to the node of this one: nobody would do that later."""
    places, alias = SshPaths.of(settings.profile.ssh_config), settings.profile.alias
    found = read_alias(places, alias)
    if isinstance(found, AliasTarget) and found.profile == settings.name:
        theirs = [name for name, one in others.items() if _has_alias(one, alias, places)]
        park_alias(places, alias, theirs[0] if theirs else "")


def _has_alias(profile: Profile, alias: str, places: SshPaths) -> bool:
    """One without a cluster has no node, and so no use for an alias."""
    is_same = profile.alias == alias and SshPaths.of(profile.ssh_config) == places
    return is_same and profile.scheduler == "slurm"


def take_away_old_alias(place: Path, name: str, edit: Edit, *, dry_run: bool) -> str | None:
    """Removes the file of the alias that the profile had before the change; which alias that was."""
    if name not in parse_document(edit.before, str(place)).get("profiles", {}):
        return None
    profiles = check_config(parse_document(edit.after, str(place)), str(place)).profiles
    old = settings_in(edit.before, place, name)
    places = SshPaths.of(old.profile.ssh_config)
    if (profiles[name].alias, SshPaths.of(profiles[name].ssh_config)) == (
        old.profile.alias,
        places,
    ):
        return None
    alias = alias_of_its_own(old, profiles.values())
    if alias is None and not dry_run:
        _hand_over(old, profiles)
    found = read_alias(places, old.profile.alias)
    if alias is None or (isinstance(found, AliasTarget) and found.profile != name):
        return None
    if not dry_run:
        remove_alias(places, alias)
    return alias
