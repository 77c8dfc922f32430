"""What this scratchflow's agent is called on a host, and the command that starts it there.

The name holds a digest of the package's files (`delivery/source.py`), and to read hundreds of files for each command takes
longer than what it is for. An agent is told by the directory that it lies in. On a laptop the name is noted together with
the status of every file, and computed again when one of them has changed.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress

import scratchflow
from scratchflow import __version__
from scratchflow.disk.name_digest import name_digest

# One line, for login shells that cannot carry more.
_START = 'exec sh "$HOME/.local/share/scratchflow/agent/$1/start" "$2"'
_NAME = re.compile(re.escape(__version__) + r"-[0-9a-f]{12}", re.ASCII)
# As in `delivery/source.py`: what no agent is given.
_LEFT_OUT = {"scratchflow/testing", "__pycache__"}
# A file may change again within one tick of its file system's clock, and look the same.
_SETTLED_S = 5.0
_MOST_BYTES = 1024
_known: list[str] = []


def agent_command(word: str = "agent") -> list[str]:
    """What starts this scratchflow's agent on any host where it was installed; another word starts the rest of it."""
    return ["sh", "-c", _START, "sh", agent_name(), word]


def own_command(word: str) -> list[str]:
    """What starts this very scratchflow once more on this host; an agent is not where Python looks for modules."""
    directory = os.path.realpath(_package_directory())
    if not _name_of_place(directory):
        return [sys.executable, "-m", "scratchflow", word]
    return ["sh", os.path.join(directory, "../../../start"), word]


def agent_name() -> str:
    """`0.1.0-3f2a9c61b7d0`: the same on every machine that has these files. Found out once in a process."""
    if not _known:
        directory = _package_directory()
        _known[:] = [_name_of_place(directory) or _noted_name(directory) or note_agent_name()]
    return _known[0]


def note_agent_name() -> str:
    """The name by the files' content, noted for the next command; an agent needs no note."""
    from scratchflow.agent.delivery.source import agent_name as computed

    directory = _package_directory()
    before = "" if _name_of_place(directory) else _fingerprint(directory)
    name = computed()
    if before and before == _fingerprint(directory):
        _write_note(before, name)
    _known[:] = [name]
    return name


def _package_directory() -> str:
    return os.path.dirname(os.path.abspath(scratchflow.__file__))


def _name_of_place(directory: str) -> str:
    """The name of the agent that these files are: `agent/NAME/PART/lib/scratchflow`; empty anywhere else."""
    parts = os.path.realpath(directory).split(os.sep)
    is_agent = parts[-5:-4] == ["agent"] and parts[-2:] == ["lib", "scratchflow"]
    return parts[-4] if is_agent and _NAME.fullmatch(parts[-4]) else ""


def _noted_name(directory: str) -> str:
    """What was noted, if no file has changed since; empty otherwise."""
    try:
        with open(_note_path(), encoding="ascii") as file:
            fingerprint, _, name = file.read(_MOST_BYTES).strip().partition(" ")
    except (OSError, ValueError):
        return ""
    if not _NAME.fullmatch(name) or fingerprint != _fingerprint(directory):
        return ""
    return name


def _write_note(fingerprint: str, name: str) -> None:
    """Without it every command reads the files: a disk that cannot be written costs time only."""
    with suppress(OSError, ValueError):
        from scratchflow.disk.memo import write_memo

        write_memo(_note_path(), f"{fingerprint} {name}\n".encode("ascii"))


def _note_path() -> str:
    from scratchflow.config.file import users_directory
    from scratchflow.model.errors.config import ConfigBadValue

    try:
        return str(users_directory("cache") / "agent-name")
    except ConfigBadValue as error:
        raise ValueError(str(error)) from error


def _fingerprint(directory: str) -> str:
    """Changes with every change to a file of the package; empty when one has changed just now, or is in no directory."""
    found: list[tuple[str, int, int, int, int]] = []
    try:
        _collect(directory, "scratchflow", found)
    except OSError:
        return ""
    newest_ns = max((changed_ns for *_, changed_ns in found), default=0)
    if not found or newest_ns > (time.time() - _SETTLED_S) * 1e9:
        return ""
    return name_digest(repr((directory, sorted(found))).encode())


def _collect(directory: str, inner: str, found: list[tuple[str, int, int, int, int]]) -> None:
    with os.scandir(directory) as entries:
        for entry in entries:
            path = f"{inner}/{entry.name}"
            if entry.is_dir():
                if not {entry.name, path} & _LEFT_OUT:
                    _collect(entry.path, path, found)
            elif not entry.name.endswith(".pyc"):
                seen = entry.stat()
                found.append((path, seen.st_size, seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns))
