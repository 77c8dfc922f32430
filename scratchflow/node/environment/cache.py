"""The computed change, kept beside the workspace for the job: a hint that is checked before it is believed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow import __version__
from scratchflow.disk.durable import replace_file
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.node.environment.change import Change, from_bytes, to_bytes
from scratchflow.node.environment.compute import of_this_user
from scratchflow.workspace.own_scratch import make_own_scratch
from scratchflow.workspace.workspace import Workspace

_PREFIX = "environment-"
# As many askers with another environment of their own; the oldest goes.
_MOST_KEPT = 8
# What differs between two processes of a job without meaning anything to the layers.
_OF_ONE_PROCESS = {"_", "SHLVL", "PWD", "OLDPWD", "TERM", "COLORTERM", "COLUMNS", "LINES"}
_OF_ONE_LOGIN = {"DISPLAY", "KRB5CCNAME", "DBUS_SESSION_BUS_ADDRESS"}
_OF_ONE_STEP = ("SLURM", "SRUN_", "PMI", "SSH_", "TMUX", "TERM_", "XDG_SESSION", "VSCODE_")
# What a login bash reads; and what is written whenever a venv or a conda environment is made anew.
_STARTUP_FILES = (".bash_profile", ".bash_login", ".profile", ".bashrc")


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of the file. `stamps`: the files it depends on, with the time of their change."""

    key: str
    digest: str
    stamps: dict[str, int]


def cache_key(
    options: EnvironmentOptions, scratch: Path, job_id: int, base: Mapping[str, str]
) -> str:
    """The same as long as the profile's table, the job and what the layers start from are.

    What a layer sets to the value that it has already is no change. So what was computed in a shell with
    modules loaded would lack them elsewhere, and is kept apart.
    """
    lasting = sorted((name, value) for name, value in base.items() if _is_lasting(name))
    content = repr([__version__, msgspec.to_builtins(options), str(scratch), job_id, lasting])
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()


def _is_lasting(name: str) -> bool:
    return name not in _OF_ONE_PROCESS | _OF_ONE_LOGIN and not name.startswith(_OF_ONE_STEP)


def read_cached(workspace: Workspace, key: str) -> Change | None:
    """The change under this key; None when there is none, or it is damaged, stale or not ours."""
    try:
        first, _, payload = _own_content(cache_file(workspace, key)).partition(b"\n")
        header = msgspec.json.decode(first, type=_Header)
    except (OSError, msgspec.DecodeError):
        return None
    is_whole = header.digest == hashlib.sha256(payload).hexdigest()
    if not is_whole or header.key != key or header.stamps != _stamps(header.stamps):
        return None
    return from_bytes(payload)


def write_cached(workspace: Workspace, key: str, change: Change, base: Mapping[str, str]) -> None:
    """Keeps the change, for us alone: variables may hold secrets. Without room it is not kept."""
    payload = to_bytes(change)
    stamps = _stamps(depends_on(change, base))
    digest = hashlib.sha256(payload).hexdigest()
    header = msgspec.json.encode(_Header(key=key, digest=digest, stamps=stamps))
    with suppress(OSError):
        make_own_scratch(workspace)
        replace_file(cache_file(workspace, key), header + b"\n" + payload)
        _remove(_kept(workspace)[_MOST_KEPT:])


def forget_cached(workspace: Workspace) -> None:
    """Makes the next one compute it anew."""
    _remove(_kept(workspace))


def cache_file(workspace: Workspace, key: str) -> Path:
    """Where it is kept: on the node, so that no other node takes it for its own."""
    return workspace.state / f"{_PREFIX}{key[:16]}"


def _kept(workspace: Workspace) -> list[Path]:
    """All that are kept, the newest first."""
    found = workspace.state.glob(f"{_PREFIX}*")
    return sorted(found, key=lambda path: changed_ns(str(path)), reverse=True)


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        with suppress(OSError):
            file.unlink()


def _own_content(path: Path) -> bytes:
    """The file's content; PermissionError when others could have written or read it."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != 0o600:
            raise PermissionError(path)
        return file.read()


def depends_on(change: Change, base: Mapping[str, str]) -> list[str]:
    """The files that the change depends on: startup files, and the environments that it led to."""
    # Where the login bash looked: the layers, and the startup files themselves, may set another HOME.
    home = {**of_this_user(), **base}.get("HOME")
    files = [f"{home}/{name}" for name in _STARTUP_FILES if home]
    environment = change.applied_to(base)
    if environment.get("VIRTUAL_ENV"):
        files += [f"{environment['VIRTUAL_ENV']}/{name}" for name in ("pyvenv.cfg", "bin/activate")]
    if environment.get("CONDA_PREFIX"):
        files.append(f"{environment['CONDA_PREFIX']}/conda-meta/history")
    return files


def _stamps(paths: Iterable[str]) -> dict[str, int]:
    """When each file changed last; 0 for one that is not there."""
    return {path: changed_ns(path) for path in paths}


def changed_ns(path: str) -> int:
    """When the file changed last; 0 when it is not there."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
