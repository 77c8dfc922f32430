"""The user's own entry of the alias's name in the ssh config, which scratchflow's lines stand above: said before they are written."""

from __future__ import annotations

from pathlib import Path

from scratchflow.config.edit import Edit
from scratchflow.config.settings import settings_in
from scratchflow.config.toml import parse_document
from scratchflow.flows.setup.draft import Draft
from scratchflow.flows.setup.table import shown_home
from scratchflow.model.events import Emit, Warned
from scratchflow.model.profile import Profile
from scratchflow.model.text import printable
from scratchflow.ssh.config.hosts import own_entry
from scratchflow.ssh.config.paths import SshPaths


def warn_of_own_entry(draft: Draft, emit: Emit, warned: set[str]) -> None:
    """Once for each alias; `warned` holds those that were named already."""
    profile = draft.settings().profile
    if profile.alias not in warned:
        warned |= set(_warn(profile, "`--set alias=NAME`", emit))


def warn_of_new_alias(place: Path, name: str, edit: Edit, emit: Emit) -> None:
    """Where the change gives a profile an alias that it did not have."""
    tables = parse_document(edit.before, str(place)).get("profiles", {})
    before = settings_in(edit.before, place, name).profile if name in tables else None
    after = settings_in(edit.after, place, name).profile
    if before is None or (before.alias, before.ssh_config) != (after.alias, after.ssh_config):
        _warn(after, f"`scratchflow -p {name} config set alias NAME`", emit)


def _warn(profile: Profile, chooses: str, emit: Emit) -> list[str]:
    """The alias, if the user's own ssh config has it and that was said."""
    alias = profile.alias
    line = own_entry(SshPaths.of(profile.ssh_config), alias)
    if line is None or profile.scheduler != "slurm":
        return []
    place = f"{printable(shown_home(line.file))}:{line.number}"
    # Settings that we do not make, like `LocalForward`, still come from the entry.
    message = (
        f"your own `Host {alias}` at {place} does not decide any more where `ssh {alias}` leads:"
        f" scratchflow's lines stand above it; {chooses} chooses another name"
    )
    emit(Warned(code="alias.own_entry", message=message))
    return [alias]
