"""The user's own entry of the alias's name in the ssh config, which scratchflow's lines stand above: said before they are written."""

from __future__ import annotations

from scratchflow.flows.setup.draft import Draft
from scratchflow.flows.setup.table import shown_home
from scratchflow.model.events import Emit, Warned
from scratchflow.model.text import printable
from scratchflow.ssh.config.hosts import own_entry
from scratchflow.ssh.config.paths import SshPaths


def warn_of_own_entry(draft: Draft, emit: Emit, warned: set[str]) -> None:
    """Once for each alias; `warned` holds those that were named already."""
    profile = draft.settings().profile
    alias = profile.alias
    line = own_entry(SshPaths.of(profile.ssh_config), alias)
    if line is None or alias in warned:
        return
    warned.add(alias)
    place = f"{printable(shown_home(line.file))}:{line.number}"
    # Settings that we do not make, like `LocalForward`, still come from the entry.
    message = (
        f"your own `Host {alias}` at {place} does not decide any more where `ssh {alias}` leads:"
        f" scratchflow's lines stand above it; `--set alias=NAME` chooses another name"
    )
    emit(Warned(code="alias.own_entry", message=message))
