"""What is left on this machine: the profile `local`, what commands remember, completion, settings, the program itself."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from scratchflow.config.edit import plan_edits
from scratchflow.config.file import users_directory
from scratchflow.config.settings import LOCAL, Settings
from scratchflow.flows.setup.removal.in_use import beneath, still_used, users_of
from scratchflow.flows.setup.removal.removal_command import removal_command
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.profile import Profile
from scratchflow.model.results.setup import LeftBehind
from scratchflow.ssh.config.alias import foreign_file
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.workspace.lock import has_loop
from scratchflow.workspace.notes import known_workspaces
from scratchflow.workspace.workspace import Workspace, expand


def ssh_backup_left(settings: Settings) -> Iterator[LeftBehind]:
    """The ssh config as it was before we first wrote to it."""
    backup = SshPaths.of(settings.profile.ssh_config).backup
    if backup.is_file():
        yield LeftBehind(
            what=f"{backup}: your ssh config as it was before scratchflow wrote to it",
            how=f"`rm {shlex.quote(str(backup))}`",
        )


def foreign_alias_left(settings: Settings) -> Iterator[LeftBehind]:
    """What is in the place of the alias's file and is not ours."""
    profile = settings.profile
    if file := foreign_file(SshPaths.of(profile.ssh_config), profile.alias):
        # What somebody keeps in a directory is theirs to look at: `rmdir` removes an empty one.
        command = "rmdir" if file.is_dir() and not file.is_symlink() else "rm"
        yield LeftBehind(
            what=f"{file}, which scratchflow did not write",
            how=f"`{command} {shlex.quote(str(file))}`",
        )


def places_left_here(settings: Settings, others: Mapping[str, Profile]) -> Iterator[LeftBehind]:
    """The snapshots and the workspace of a profile without a cluster; `others` are more of that kind.

    Those of `local` lie in our own directory, which is named as a whole.
    """
    profile = settings.profile
    data = users_directory("data")
    on_this_machine = {
        name: msgspec.structs.replace(one, login=profile.login) for name, one in others.items()
    }
    for what, above in (("snapshots", profile.store), ("workspace", profile.scratch)):
        written = beneath(above, profile.workspace)
        try:
            place = expand(written, os.environ)
        except ScratchflowError as error:  # a name in it is not set here, or not now
            yield LeftBehind(
                what=f"the {what} of profile `{settings.name}` in {written}, if anything is there",
                how=f"nobody could look, and nothing was removed there: {error}",
            )
            continue
        if place.is_dir() and not place.is_relative_to(data):
            names = users_of(str(place), profile.login, on_this_machine)
            command = f"`{removal_command(LOCAL, str(place))}`: gone for good"
            yield LeftBehind(
                what=f"the {what} of profile `{settings.name}` in {place}",
                how=still_used(names) if names else command,
            )


def left_here(goes: set[str], first: str, users: Sequence[str]) -> Iterator[LeftBehind]:
    """What is on this machine: the profile `local`, what commands remember, the cache."""
    import platformdirs

    data = users_directory("data")
    if any(has_loop(Workspace(data / "scratch", one)) for one in _workspaces_in(data / "scratch")):
        yield LeftBehind(
            what=f"the auto-backup of profile `{LOCAL}`, which runs on this machine, and its tmux session",
            how=f"`scratchflow -p {LOCAL} clear`: after a last backup",
        )
    has_work = (data / "scratch").is_dir() or (data / "store").is_dir()
    holds = f"the workspace and the snapshots of profile `{LOCAL}`" if has_work else "notes"
    cache = Path(platformdirs.user_cache_path("scratchflow", appauthor=False))
    places = {
        data: (holds, ": gone for good" if has_work else ""),
        users_directory("state"): ("what commands remember, and crash reports,", ""),
        cache: ("the cache", ""),
    }
    for directory, (what, warning) in places.items():
        if directory.is_dir() and not {entry.name for entry in directory.iterdir()} <= goes:
            command = f"{first}`rm -rf {shlex.quote(str(directory))}`{warning}"
            names = [LOCAL] if directory == data and has_work else users
            how = still_used(names, users[0]) if users else command
            is_small = not users and not warning
            yield LeftBehind(what=f"{what} in {directory}", how=how, is_small=is_small)


def settings_left(settings: Settings, others: Iterable[str]) -> Iterator[LeftBehind]:
    """What stays in the configuration file when no cluster's profile is in it any more, as `[sync]`."""
    path = settings.path
    if not path.is_file():
        return
    removals = [("default_profile",), *(("profiles", name) for name in (settings.name, *others))]
    try:
        rest = plan_edits(path, {}, removals).after.strip()
    except ScratchflowError:
        rest = "something that cannot be read"
    if rest:
        file, directory = (shlex.quote(str(one)) for one in (path, path.parent))
        yield LeftBehind(
            what=f"{path}, in which more than profiles stays, and its directory",
            how=f"`rm {file}`, then `rmdir {directory}` if nothing of yours is in it",
        )


def program_left(environment: Path) -> LeftBehind:
    """The program itself, in the Python environment that it runs from; last, as the commands above need it."""
    above = environment.parts[-3:-1]
    quoted = shlex.quote(str(environment))
    if above == ("pipx", "venvs"):
        how = "`pipx uninstall scratchflow`"
    elif above == ("uv", "tools"):
        how = "`uv tool uninstall scratchflow`"
    else:
        pip = f"{quoted}/bin/python -m pip uninstall scratchflow"
        how = f"`{pip}`, or `rm -rf {quoted}` if you made that for scratchflow alone"
    return LeftBehind(what=f"scratchflow itself, in {environment}", how=how)


def _workspaces_in(scratch: Path) -> list[str]:
    try:
        return known_workspaces(scratch)
    except OSError:
        return []


def completion_left(users: Sequence[str]) -> Iterator[LeftBehind]:
    """What `--install-completion` wrote, and the line by which the shell finds it."""
    home = Path.home()
    bash = home / ".bash_completions" / "scratchflow.sh"
    if bash.is_file():
        command = f"`rm {shlex.quote(str(bash))}`, and delete the line `source '{bash}'`"
        yield LeftBehind(
            what=f"bash's completion in {bash}, and the line in {home / '.bashrc'} that reads it",
            how=still_used(users) if users else command,
            is_small=not users,
        )
    others = {
        "zsh": home / ".zfunc" / "_scratchflow",
        "fish": home / ".config" / "fish" / "completions" / "scratchflow.fish",
    }
    for shell, path in others.items():
        if path.is_file():
            how = still_used(users) if users else f"`rm {shlex.quote(str(path))}`"
            yield LeftBehind(what=f"{shell}'s completion in {path}", how=how, is_small=not users)
