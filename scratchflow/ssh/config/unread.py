"""Why ssh does not get to our file of an alias, as the user's ssh config and what it includes say it.

Files are read, and no ssh is started: what only a `Match exec` could say is not seen here.
"""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

import msgspec

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.model.text import printable
from scratchflow.ssh.config.paths import SshPaths, passwd_home
from scratchflow.ssh.config.user_file import read_user_file

_BOM = b"\xef\xbb\xbf"
_EVERY_HOST = {"*", "all"}


class _Setting(msgspec.Struct, frozen=True):
    """One line as ssh comes by it. `scope` is the `Host` or `Match` that it is under; empty when that is every host."""

    word: str
    rest: str
    file: Path
    scope: str


def why_unread(places: SshPaths, alias: str) -> str:
    """Why ssh does not get to our file of this alias; empty when it does, or the config cannot be read."""
    try:
        content = read_user_file(places).content or b""
    except SshConfigRefused:
        return ""
    name, shadow = printable(places.config), ""
    for one in _settings_of(places, places.config, content, "", set()):
        if _is_ours(places, one):
            below = (
                f"in {_file(places, one)}, scratchflow's lines stand below `{printable(one.scope)}`"
            )
            return shadow or (below if one.scope else "")
        shadow = shadow or _shadow(places, one, alias)
    return f"`{name}` lacks scratchflow's lines"


def _shadow(places: SshPaths, one: _Setting, alias: str) -> str:
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


def _file(places: SshPaths, one: _Setting) -> str:
    name = f"`{printable(places.config)}`"
    return name if one.file == places.config else f"`{printable(one.file)}`, which {name} includes,"


def _is_ours(places: SshPaths, one: _Setting) -> bool:
    return one.word == "include" and f"{places.directory.name}/" in one.rest


def _settings_of(
    places: SshPaths, file: Path, content: bytes, outer: str, seen: set[tuple[Path, bool]]
) -> Iterator[_Setting]:
    """The lines of a file and, behind each `Include` but ours, of what it includes.

    A file is read once for every host and once for some, so that circles end: ssh refuses them.
    """
    scope = outer
    for word, rest in _lines(content):
        if word in {"host", "match"}:
            scope = outer or ("" if rest.lower() in _EVERY_HOST else f"{word.title()} {rest}")
        one = _Setting(word, rest, file, outer if word in {"host", "match"} else scope)
        yield one
        if word != "include" or _is_ours(places, one):
            continue
        for path in _included(rest):
            if (path, not scope) not in seen:
                seen.add((path, not scope))
                yield from _settings_of(places, path, _content(path), scope, seen)


def _lines(content: bytes) -> Iterator[tuple[str, str]]:
    """Each line's keyword, in lower case, and what follows it."""
    for line in content.removeprefix(_BOM).decode("utf-8", "surrogateescape").splitlines():
        word, _, rest = line.strip().replace("=", " ", 1).partition(" ")
        if word and not word.startswith("#"):
            yield word.lower(), rest.strip()


def _included(rest: str) -> Iterator[Path]:
    """The files of an `Include`, in ssh's order; relative ones are of the `.ssh` that ssh goes by."""
    home = passwd_home()
    for pattern in _arguments(rest):
        own = f"{home}{pattern[1:]}" if pattern[:2] == "~/" else os.path.expanduser(pattern)
        yield from map(Path, sorted(glob.glob(os.path.join(home, ".ssh", own))))


def _arguments(rest: str) -> list[str]:
    try:
        return shlex.split(rest, comments=True)
    except ValueError:  # a quote that is not closed: ssh refuses the line
        return []


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def _names(one: _Setting, alias: str) -> bool:
    """Whether a `Host` or `Match` line is about this alias in particular."""
    words = [word.strip('"') for word in one.rest.split()]
    if one.word == "match":
        values = [b for a, b in pairwise(words) if a.lower() in {"host", "originalhost"}]
        words = [word for value in values for word in value.split(",")]
    if any(word[:1] == "!" and fnmatchcase(alias, word[1:]) for word in words):
        return False
    return any(fnmatchcase(alias, word) for word in words if word != "*")
