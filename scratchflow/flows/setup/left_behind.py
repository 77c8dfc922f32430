"""What `setup --remove` does not touch, and how to remove each: the user's data is the user's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.model.results import LeftBehind, NodesShown, StatusShown
from scratchflow.model.text import counted

_PLAIN_PATH = re.compile(r"[\w@%+=:,./~$-]+", re.ASCII)
# What means something between double quotes; the only `$` in a path are those of `$USER` and `$HOME`.
_SPECIAL = re.compile(r'["`\\]')


class Seen(msgspec.Struct, frozen=True):
    """What the cluster said before its agent went; None when nobody could be asked."""

    status: StatusShown | None = None
    nodes: NodesShown | None = None


def left_behind(settings: Settings, seen: Seen) -> list[LeftBehind]:
    """The profile, the snapshots, the copies on scratch, the cache on this machine."""
    found = list(_profile(settings))
    if settings.profile.scheduler == "slurm":
        found += [*_snapshots(settings, seen), *_copies(settings, seen)]
    return [*found, *_cache()]


def _profile(settings: Settings) -> Iterator[LeftBehind]:
    if settings.exists and settings.origins.get("login") == str(settings.path):
        yield LeftBehind(
            what=f"the profile `{settings.name}` in {settings.path}",
            how=f"`scratchflow profiles remove {settings.name}`",
        )


def _snapshots(settings: Settings, seen: Seen) -> Iterator[LeftBehind]:
    profile = settings.profile
    count = seen.status.snapshots.count if seen.status else None
    if count == 0:
        return
    number = "the snapshots" if count is None else counted(count, "snapshot")
    path = f"{profile.store.rstrip('/')}/{profile.workspace}"
    yield LeftBehind(
        what=f"{number} in {path} on `{profile.login}`",
        how=f"`{removal_command(profile.login, path)}`: gone for good",
    )


def _copies(settings: Settings, seen: Seen) -> Iterator[LeftBehind]:
    warm = [node.name for node in seen.nodes.nodes if node.warm] if seen.nodes else []
    if not warm:
        return
    path = f"{settings.profile.scratch.rstrip('/')}/{settings.profile.workspace}"
    yield LeftBehind(
        what=f"copies of the workspace on the scratch of {', '.join(warm)}",
        how=f"`rm -r {_far_word(path)}` in a job on each, or leave them to the cluster's own clean-up",
    )


def removal_command(login: str, path: str) -> str:
    """What to type on this machine to remove a directory of the login host, or of this machine itself."""
    command = f"rm -r {_far_word(path)}"
    return command if login == "local" else f"ssh {login} {shlex.quote(command)}"


def _far_word(path: str) -> str:
    """One word for a shell of the cluster, which fills in `~` and `$USER` and takes the rest as it is."""
    if _PLAIN_PATH.fullmatch(path):
        return path
    home, rest = ("~/", path[2:]) if path.startswith("~/") else ("", path)
    escaped = _SPECIAL.sub(r"\\\g<0>", rest)
    return f'{home}"{escaped}"'


def _cache() -> Iterator[LeftBehind]:
    import platformdirs

    cache = Path(platformdirs.user_cache_path("scratchflow", appauthor=False))
    if cache.is_dir():
        yield LeftBehind(what=f"the cache in {cache}", how=f"`rm -r {shlex.quote(str(cache))}`")
