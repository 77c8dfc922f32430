"""`$NAME` and `${NAME}` in a path, replaced by what the machine that uses the path has them set to."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping

from scratchflow.model.errors.config import ConfigBadValue, PathNameUnset
from scratchflow.model.profile import PATH_NAME, path_names

_OF_THE_ACCOUNT = {"USER", "HOME"}
_SHOWN = 3


def with_names(path: str, environment: Mapping[str, str], *, key: str, where: str = "") -> str:
    """The path with its names put in; a leading `~` is `$HOME`. PathNameUnset when one is not set, or empty.

    `where` says whose environment that is, for the error.
    """
    whole = f"$HOME{path[1:]}" if path == "~" or path.startswith("~/") else path

    def value(name: str) -> str:
        found = environment.get(name)
        if found:
            return found
        if name in _OF_THE_ACCOUNT:  # a job step may come without them
            return _of_this_user(name, key)
        raise PathNameUnset(
            key=key,
            path=path,
            name=name,
            where=where or f"on `{os.uname().nodename}`",
            similar=_similar_in_words(name, environment),
            more=""
            if key.startswith("--")
            else f"; `scratchflow config show` shows where `{key}` comes from",
        )

    return PATH_NAME.sub(lambda match: value(match[1] or match[2]), whole)


def names_to_find(path: str, environment: Mapping[str, str]) -> set[str]:
    """The names in a path that this environment does not have, without those that the account tells."""
    return {
        name
        for name in path_names(path)
        if name not in _OF_THE_ACCOUNT and not environment.get(name)
    }


def is_of_the_account(path: str) -> bool:
    """Whether a path holds no names but `$USER` and `$HOME`, which are the same on all hosts of a cluster."""
    return set(path_names(path)) <= _OF_THE_ACCOUNT


def _of_this_user(name: str, key: str) -> str:
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        problem = f"this machine does not say what `${name}` is; set {name}, or write the path out"
        raise ConfigBadValue(key=key, origin="profile", problem=problem) from None
    return entry.pw_name if name == "USER" else entry.pw_dir


def _similar_in_words(name: str, environment: Mapping[str, str]) -> str:
    found = similar_names(name, environment)
    return (
        f"; set there: {', '.join(f'`${one}` ({environment[one]})' for one in found)}"
        if found
        else ""
    )


def similar_names(name: str, environment: Mapping[str, str]) -> list[str]:
    """Names of directories that look like the one that is not set, the closest first."""
    import difflib  # only ever needed on the way to an error

    paths = [
        one for one, value in environment.items() if value.startswith("/") and ":" not in value
    ]
    near = difflib.get_close_matches(name, paths, n=_SHOWN, cutoff=0.6)
    upper = name.upper()
    within = (one for one in sorted(paths) if one.upper() in upper or upper in one.upper())
    return list(dict.fromkeys([*near, *within]))[:_SHOWN]
