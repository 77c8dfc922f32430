"""The alias that a profile had: its file goes with it, unless another profile uses it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scratchflow.config.check import check_config
from scratchflow.config.edit import Edit
from scratchflow.config.settings import Settings, settings_in
from scratchflow.config.toml import parse_document
from scratchflow.model.profile import Profile
from scratchflow.ssh.config.alias import read_alias, remove_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.paths import SshPaths


def alias_of_its_own(settings: Settings, others: Iterable[Profile]) -> str | None:
    """The profile's alias, if we wrote its file and no other profile uses it."""
    profile = settings.profile
    places = SshPaths.of(profile.ssh_config)
    if read_alias(places, profile.alias) is None:
        return None
    for other in others:
        is_same = other.alias == profile.alias and SshPaths.of(other.ssh_config) == places
        # One without a cluster has no node, and so no use for an alias.
        if is_same and other.scheduler == "slurm":
            return None
    return profile.alias


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
    found = read_alias(places, old.profile.alias)
    if alias is None or (isinstance(found, AliasTarget) and found.profile != name):
        return None
    if not dry_run:
        remove_alias(places, alias)
    return alias
