"""What is left on this machine: the profile `local`, what commands remember, completion, the ssh config as it was."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from scratchflow.config.file import users_directory
from scratchflow.config.settings import LOCAL, Settings
from scratchflow.flows.setup.removal.in_use import still_used
from scratchflow.model.results.setup import LeftBehind
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.workspace.lock import has_loop
from scratchflow.workspace.notes import known_workspaces
from scratchflow.workspace.workspace import Workspace


def ssh_backup_left(settings: Settings) -> Iterator[LeftBehind]:
    """The ssh config as it was before we first wrote to it."""
    backup = SshPaths.of(settings.profile.ssh_config).backup
    if backup.is_file():
        yield LeftBehind(
            what=f"{backup}: your ssh config as it was before scratchflow wrote to it",
            how=f"`rm {shlex.quote(str(backup))}`",
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
            yield LeftBehind(what=f"{what} in {directory}", how=how)


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
        )
    others = {
        "zsh": home / ".zfunc" / "_scratchflow",
        "fish": home / ".config" / "fish" / "completions" / "scratchflow.fish",
    }
    for shell, path in others.items():
        if path.is_file():
            how = still_used(users) if users else f"`rm {shlex.quote(str(path))}`"
            yield LeftBehind(what=f"{shell}'s completion in {path}", how=how)
