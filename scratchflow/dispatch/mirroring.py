"""Starts what keeps the mirror up to date, after whatever takes snapshots; nobody waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from scratchflow.config.settings import Settings

# Whatever leaves a new snapshot in the store, or starts what does.
_SAVING = {
    *("backup", "save node", "create", "restore", "settle", "submit"),
    *("snapshots import", "snapshots adopt", "autobackup on", "make ready"),
}


def start_mirroring(do: str, settings: Settings, environment: Mapping[str, str]) -> None:
    """A process of its own on this machine, if the profile has a mirror and this is where it is sent from.

    A node of a cluster is not: it may have no way to the internet. One that cannot be started is
    told by `status`: the mirror falls behind.
    """
    profile = settings.profile
    if do not in _SAVING or not profile.backup.mirror:
        return
    # Most people have no mirror, and load nothing for it.
    from scratchflow.cluster.this_host import role

    if profile.scheduler != "none" and role(environment) == "node":
        return
    from scratchflow.agent.request import asking, encode
    from scratchflow.model.profile import to_plain
    from scratchflow.reach.lasting_agent import start_here

    asked = asking(
        "mirror keep",
        {},
        profile_name=settings.name,
        profile=to_plain(profile),
        hold_stdin=False,
    )
    with suppress(OSError):
        start_here(encode(asked)).cut_loose()
