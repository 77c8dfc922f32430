"""By what a site is recognised, looked at on its login host: names, directories, and places of the user's own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, Run
from scratchflow.cluster.login_path import with_login_names
from scratchflow.model.profile import path_names
from scratchflow.model.requests import Survey
from scratchflow.workspace.path_names import names_to_find
from scratchflow.workspace.workspace import expand

_NAME_S = 5.0
# Of directories whose names are not known beforehand, like those of a user's projects.
_MOST_NAMES = 200
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*", re.ASCII)


class Marks(msgspec.Struct, frozen=True):
    """What was found of what was asked for."""

    host: str = ""
    variables: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    # As a profile writes it, and the user's directory that it is in.
    stores: dict[str, Path] = {}


def look_for_marks(asked: Survey, environment: Mapping[str, str], run: Run) -> Marks:
    """Names are those of the user's login shell: ssh sets few of them."""
    names = {*asked.variables, *(name for path in asked.stores for name in path_names(path))}
    missing = {name for name in names if not environment.get(name)}
    inside = with_login_names(environment, missing, run)
    return Marks(
        host=_own_name(run) if asked != Survey() else "",
        variables=tuple(name for name in asked.variables if inside.get(name)),
        directories=tuple(path for path in asked.directories if os.path.isdir(path)),
        stores=dict(own_places(asked.stores, inside)),
    )


def own_places(
    written: Iterable[str], environment: Mapping[str, str]
) -> Iterator[tuple[str, Path]]:
    """Those of the paths that lie in a directory of the user's own: nobody else's store can be there."""
    for path in written:
        if names_to_find(path, environment):
            continue
        for one in _each(path, environment):
            directory = expand(one, environment).parent
            if _is_own(directory):
                yield one, directory


def _each(path: str, environment: Mapping[str, str]) -> Iterator[str]:
    """The path with each name that `*` may stand for."""
    before, star, after = path.partition("*")
    if not star:
        yield path
        return
    try:
        with os.scandir(expand(before, environment)) as entries:
            names = sorted(entry.name for entry in islice(entries, _MOST_NAMES))
    except OSError:
        return
    yield from (f"{before}{name}{after}" for name in names if _PLAIN.fullmatch(name))


def _is_own(directory: Path) -> bool:
    try:
        return (
            directory.is_dir()
            and directory.stat().st_uid == os.getuid()
            and os.access(directory, os.W_OK | os.X_OK)
        )
    except OSError:
        return False


def _own_name(run: Run) -> str:
    """With its domain, if the host knows it."""
    try:
        done = run(["hostname", "-f"], _NAME_S)
    except (CommandMissing, CommandUnanswered):
        return os.uname().nodename
    return done.text.strip() if done.returncode == 0 else os.uname().nodename
