"""What can be put right without a question: nothing is deleted, nothing is asked of Slurm, no setting changes."""

from __future__ import annotations

from scratchflow.dispatch.cluster import Cluster
from scratchflow.flows.alias import (
    has_alias,
    lines_are_back,
    park,
    point_at,
    put_lines_back,
)
from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.model.events import Log
from scratchflow.model.requests import Hold, Session, SwitchOn
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.model.results.backup import AutobackupSwitched
from scratchflow.model.results.run import SessionReady

_RESTARTED = {
    "autobackup.overdue",
    "autobackup.unknown",
    "autobackup.other_settings",
    "autobackup.missing",
}


def mend(cluster: Cluster, problems: set[str]) -> list[str]:
    """Does what is safe about these problems of `status`, and tells each; empty when there was nothing."""
    done: list[str] = []

    def tell(what: str) -> None:
        done.append(what)
        cluster.emit(Log(level="info", message=what))

    alias = cluster.settings.profile.alias
    refused: SshConfigRefused | None = None
    try:
        # Also where `status`, which starts no ssh, sees nothing: here ssh is asked.
        if cluster.settings.profile.scheduler != "none" and put_lines_back(cluster.settings):
            tell(lines_are_back(cluster.settings))
    except SshConfigRefused as error:  # the rest does not depend on it
        refused = error
    if "alias.stale" in problems and park(cluster.settings):
        tell(f"parked `{alias}`")
    if "alias.behind" in problems and has_alias(cluster.settings):
        # Finds the node again and reads its host keys.
        held = cluster.on_login("hold", Hold(only_held=True), NodeHeld)
        point_at(cluster.settings, held, cluster.emit, cluster.caller.environment)
        tell(f"pointed `{alias}` at `{held.node}`")
    if problems & _RESTARTED:
        cluster.on_login("autobackup on", SwitchOn(), AutobackupSwitched)
        tell("started the auto-backup again")
    if "session.lost" in problems:
        cluster.on_login("session", Session(), SessionReady)
        tell("opened the tmux session again")
    if refused:
        raise refused
    return done
