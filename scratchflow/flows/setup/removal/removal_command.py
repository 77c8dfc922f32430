"""What to type to remove a directory of the cluster: one word for its shell, whatever the path holds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from scratchflow.config.settings import LOCAL

_PLAIN_PATH = re.compile(r"[\w@%+=:,./~$-]+", re.ASCII)
# What means something between double quotes; the only `$` in a path are those of `$USER` and `$HOME`.
_SPECIAL = re.compile(r'["`\\]')
# Names that only a login shell knows: what was looked for without one may be elsewhere.
_OTHER_NAME = re.compile(r"\$(?!(?:USER|HOME)\b|\{(?:USER|HOME)\})")


def has_other_name(path: str) -> bool:
    """Whether a shell may read it otherwise than we do: it has names beside `$USER` and `$HOME`."""
    return _OTHER_NAME.search(path) is not None


def removal_command(login: str, path: str) -> str:
    """What to type on this machine to remove a directory of the login host, or of this machine itself."""
    # `-f`: without it `rm` asks about each file that is read-only, as git's objects are.
    return far_command(login, "rm -rf", path)


def far_command(login: str, command: str, path: str) -> str:
    """What to type on this machine to have this command done with a directory there: `rmdir`, `ls -ld`."""
    line = f"{command} {_far_word(path)}"
    return line if login == LOCAL else f"ssh {login} {shlex.quote(line)}"


def command_there(paths: Sequence[str]) -> str:
    """The same to type on a node, for several directories."""
    return f"rm -rf {' '.join(map(_far_word, paths))}"


def _far_word(path: str) -> str:
    """One word for a shell of the cluster, which fills in `~` and `$USER` and takes the rest as it is."""
    if _PLAIN_PATH.fullmatch(path):
        return path
    home, rest = ("~/", path[2:]) if path.startswith("~/") else ("", path)
    escaped = _SPECIAL.sub(r"\\\g<0>", rest)
    return f'{home}"{escaped}"'
