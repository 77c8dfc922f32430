"""Why ssh does not get to our file of an alias, as the user's ssh config and what it includes say it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import pairwise

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.model.text import printable
from scratchflow.ssh.config.lines import Line, config_lines, is_ours
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.user_file import read_user_file


def why_unread(places: SshPaths, alias: str) -> str:
    """Why ssh does not get to our file of this alias; empty when it does, or the config cannot be read."""
    try:
        read_user_file(places)
    except SshConfigRefused:
        return ""
    name, shadow = printable(places.config), ""
    for one in config_lines(places):
        if is_ours(places, one):
            below = (
                f"in {_file(places, one)}, scratchflow's lines stand below `{printable(one.scope)}`"
            )
            return shadow or (below if one.scope else "")
        shadow = shadow or _shadow(places, one, alias)
    return f"`{name}` lacks scratchflow's lines"


def _shadow(places: SshPaths, one: Line, alias: str) -> str:
    """Why a line before ours wins: for each setting, ssh goes by the first value."""
    if one.scope:
        return ""
    if one.word in {"host", "match"} and _names(one, alias):
        own = f"`{one.word.title()} {printable(one.rest)}` of its own"
        return f"{_file(places, one)} has a {own} above scratchflow's lines"
    if one.word == "hostname":
        own = f"`HostName {printable(one.rest)}` for every host"
        return f"{_file(places, one)} sets {own} above scratchflow's lines"
    return ""


def _file(places: SshPaths, one: Line) -> str:
    name = f"`{printable(places.config)}`"
    return name if one.file == places.config else f"`{printable(one.file)}`, which {name} includes,"


def _names(one: Line, alias: str) -> bool:
    """Whether a `Host` or `Match` line is about this alias in particular."""
    words = [word.strip('"') for word in one.rest.split()]
    if one.word == "match":
        values = [b for a, b in pairwise(words) if a.lower() in {"host", "originalhost"}]
        words = [word for value in values for word in value.split(",")]
    if any(word[:1] == "!" and fnmatchcase(alias, word[1:]) for word in words):
        return False
    return any(fnmatchcase(alias, word) for word in words if word != "*")
