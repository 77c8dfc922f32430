"""Which paths stay out of a snapshot: gitignore patterns and CACHEDIR.TAG."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

IGNORE_FILE = b".scratchignore"
CACHE_TAG = b"CACHEDIR.TAG"
_CACHE_TAG_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_MAX_IGNORE_FILE_BYTES = 1 << 20
_SPECIAL = frozenset("*?[]\\!/")

Matcher = Callable[[bytes, bytes, bool], bool]  # (path beneath the root, name, is a directory)


class IgnoreRules:
    """The patterns of a profile's `exclude`; every root's own `.scratchignore` adds to them.

    Patterns are matched against the path beneath the root they apply to, as git does beneath a
    repository. A directory that matches is not entered, so nothing inside can be re-included.
    """

    def __init__(self, exclude: Sequence[str] = ()) -> None:
        self._exclude = list(exclude)

    def for_root(self, descriptor: int) -> Matcher | None:
        """The rules for one root, whose directory is open; None when there are no patterns."""
        lines = [*self._exclude, *_read_ignore_file(descriptor)]
        lines = [line for line in lines if line.strip() and not line.startswith("#")]
        return _matcher(lines) if lines else None


def patterns_in_force(exclude: Sequence[str], root: Path) -> list[str]:
    """The patterns by which files beneath this root stay out of snapshots, each once."""
    lines = list(exclude)
    with suppress(OSError):
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            lines += _read_ignore_file(descriptor)
        finally:
            os.close(descriptor)
    kept = [line.strip() for line in lines if line.strip() and not line.startswith(("#", "!"))]
    return list(dict.fromkeys(kept))


def _read_ignore_file(directory: int) -> list[str]:
    content = _start_of_file(directory, IGNORE_FILE, _MAX_IGNORE_FILE_BYTES)
    if len(content) == _MAX_IGNORE_FILE_BYTES:
        content = content[: content.rfind(b"\n") + 1]  # half a pattern could leave anything out
    # Not `splitlines`: names may hold what it takes for the end of a line.
    return [line.removesuffix("\r") for line in os.fsdecode(content).split("\n")]


def is_cache_directory(directory: int) -> bool:
    """Whether the open directory's CACHEDIR.TAG is a real one (bford.info/cachedir)."""
    signature = _CACHE_TAG_SIGNATURE
    return _start_of_file(directory, CACHE_TAG, len(signature)) == signature


def _start_of_file(directory: int, name: bytes, limit: int) -> bytes:
    """The first bytes of a regular file; nothing if it is anything else or cannot be read."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except OSError:
        return b""
    try:
        return os.read(descriptor, limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _matcher(lines: list[str]) -> Matcher:
    # Plain names and `*.suffix` are most of what people write, and a hundred times cheaper to
    # test than a regular expression. Order only matters when something is re-included.
    names: set[bytes] = set()
    directory_names: set[bytes] = set()
    suffixes: list[bytes] = []
    others: list[str] = []
    if any(line.startswith("!") for line in lines):
        return _pathspec_matcher(lines)
    for line in lines:
        text = line.rstrip(" ")
        if text.startswith("*.") and _is_plain(text[2:]):
            suffixes.append(os.fsencode(text[1:]))
        elif _is_plain(text):
            names.add(os.fsencode(text))
        elif text.endswith("/") and _is_plain(text[:-1]):
            directory_names.add(os.fsencode(text[:-1]))
        else:
            others.append(line)
    ends = tuple(suffixes)
    rest = _pathspec_matcher(others) if others else None

    def matches(path: bytes, name: bytes, is_directory: bool) -> bool:  # noqa: FBT001 - a hot call
        return (
            name in names
            or name.endswith(ends)
            or (is_directory and name in directory_names)
            or (rest is not None and rest(path, name, is_directory))
        )

    return matches


def _is_plain(text: str) -> bool:
    return bool(text) and not _SPECIAL.intersection(text)


def _is_pattern(line: str) -> bool:
    """Whether a line has a meaning. One without leaves nothing out: the file may be anything, and a backup goes on."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def _pathspec_matcher(lines: list[str]) -> Matcher:
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        spec = GitIgnoreSpec.from_lines(filter(_is_pattern, lines))

    def matches(path: bytes, _name: bytes, is_directory: bool) -> bool:  # noqa: FBT001 - a hot call
        return spec.match_file(os.fsdecode(path) + "/" * is_directory)

    return matches
