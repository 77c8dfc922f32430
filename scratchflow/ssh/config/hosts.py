"""The hosts that the user's ssh config names: what a person could choose a login host from.

ssh itself never lists them. Patterns, negations and `Match` are passed over; a list with a host too
few is no harm, since any other can be typed.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from scratchflow.ssh.config.names import is_login
from scratchflow.ssh.config.paths import SshPaths

_DEEPEST = 4
_LINE = re.compile(r"\s*(host|include)(?:\s*=\s*|\s+)(.*)", re.IGNORECASE)


def hosts_in_config(places: SshPaths) -> list[str]:
    """Every plain name after a `Host`, in the order of the file; our own aliases are none of them."""
    return list(dict.fromkeys(_hosts(places.config, places, 0)))


def _hosts(file: Path, places: SshPaths, depth: int) -> Iterator[str]:
    try:
        text = file.read_text("utf-8", "replace")
    except OSError:
        return
    for line in text.splitlines():
        match = _LINE.match(line)
        words = _words(match[2]) if match else []
        if match and match[1].lower() == "host":
            yield from (word for word in words if is_login(word))
        elif match and depth < _DEEPEST:
            for included in _files(words, places):
                yield from _hosts(included, places, depth + 1)


def _files(patterns: list[str], places: SshPaths) -> Iterator[Path]:
    for pattern in patterns:
        full = os.path.join(places.config.parent, os.path.expanduser(pattern))
        for name in sorted(glob.glob(full)):
            if places.directory not in Path(name).parents:
                yield Path(name)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quote that is not closed
        return []
