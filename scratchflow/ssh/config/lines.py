"""The lines of the user's ssh config and of what it includes, in the order in which ssh comes by them.

Files are read, and no ssh is started: what only a `Match exec` could say is not seen here.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scratchflow.ssh.config.paths import SshPaths, passwd_home

_BOM = b"\xef\xbb\xbf"
_EVERY_HOST = {"*", "all"}
_LINE = re.compile(r"\s*([^\s#=][^\s=]*)(?:\s*=\s*|\s+|$)(.*)")


class Line(msgspec.Struct, frozen=True):
    """One setting. `scope` is the `Host` or `Match` that it is under; empty when that is every host. `number` counts from 1."""

    word: str
    rest: str
    file: Path
    scope: str
    number: int

    @property
    def arguments(self) -> list[str]:
        return arguments_of(self.rest)


def config_lines(places: SshPaths) -> Iterator[Line]:
    """The lines of the config and, behind each `Include` but ours, of what it includes.

    A file is read once for every host and once for some, so that circles end: ssh refuses them.
    """
    yield from _lines_of(places, places.config, "", set())


def is_ours(places: SshPaths, line: Line) -> bool:
    return line.word == "include" and f"{places.directory.name}/" in line.rest


def arguments_of(rest: str) -> list[str]:
    try:
        return shlex.split(rest, comments=True)
    except ValueError:  # a quote that is not closed: ssh refuses the line
        return []


def _lines_of(
    places: SshPaths, file: Path, outer: str, seen: set[tuple[Path, bool]]
) -> Iterator[Line]:
    scope = outer
    for number, word, rest in _words_of(_content(file)):
        if word in {"host", "match"}:
            scope = outer or ("" if rest.lower() in _EVERY_HOST else f"{word.title()} {rest}")
        line = Line(word, rest, file, outer if word in {"host", "match"} else scope, number)
        yield line
        if word != "include" or is_ours(places, line):
            continue
        for path in _included(rest):
            if (path, not scope) not in seen:
                seen.add((path, not scope))
                yield from _lines_of(places, path, scope, seen)


def _words_of(content: bytes) -> Iterator[tuple[int, str, str]]:
    """Each line's number and keyword, in lower case, and what follows it."""
    lines = content.removeprefix(_BOM).decode("utf-8", "surrogateescape").splitlines()
    for number, line in enumerate(lines, start=1):
        match = _LINE.match(line)
        if match:
            yield number, match[1].lower(), match[2].rstrip()


def _included(rest: str) -> Iterator[Path]:
    """The files of an `Include`, in ssh's order; relative ones are of the `.ssh` that ssh goes by."""
    home = passwd_home()
    for pattern in arguments_of(rest):
        own = f"{home}{pattern[1:]}" if pattern[:2] == "~/" else os.path.expanduser(pattern)
        yield from map(Path, sorted(glob.glob(os.path.join(home, ".ssh", own))))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""
