"""Whose another workspace on a node is: which profile brings it, and whether that one still works in it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.dispatch.cluster import Cluster
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.profile import Profile
from scratchflow.model.results.backup import NodeSaved
from scratchflow.model.results.status import ElsewhereShown


class Owner(msgspec.Struct, frozen=True):
    """A profile that works in a workspace; `is_there` while it holds the node, `has_node` while it holds any."""

    profile: str
    is_there: bool = False
    has_node: bool = False


def owners_of(
    cluster: Cluster, node: str, saved: NodeSaved, elsewhere: Sequence[ElsewhereShown]
) -> dict[str, Owner]:
    """The other profiles whose workspaces were saved on this node, by workspace; by this machine's configuration."""
    foreign = [name for name in saved.others if name not in saved.own_others]
    if not foreign:
        return {}
    held = {one.profile: one.node for one in elsewhere if one.node}
    found: dict[str, Owner] = {}
    for profile, values in others_here(cluster):
        name = values.workspace
        # Its path is known as the cluster has it: of a store that is another one, no more can be said here.
        is_same_store = values.store == cluster.settings.profile.store
        if name not in foreign or is_same_store is bool(saved.other_stores.get(name)):
            continue
        owner = Owner(profile, held.get(profile) == node, profile in held)
        if name not in found or owner.is_there:
            found[name] = owner
    return found


def holder_of(node: str, elsewhere: Sequence[ElsewhereShown]) -> str:
    """The other profile that holds this node; empty without one."""
    return next((one.profile for one in elsewhere if one.node == node), "")


def others_here(cluster: Cluster) -> Iterator[tuple[str, Profile]]:
    """The other profiles of the same cluster."""
    settings, caller = cluster.settings, cluster.caller
    for name in settings.profiles:
        if name == settings.name:
            continue
        with suppress(ScratchflowError):
            other = _settings_of(caller.asked, caller.environment, name)
            if other.profile.login == settings.profile.login:
                yield name, other.profile


def _settings_of(asked: Asked, environment: Mapping[str, str], name: str) -> Settings:
    return load_settings(Asked(config=asked.config, profile=name), environment)
