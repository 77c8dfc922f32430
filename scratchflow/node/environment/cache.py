"""The computed change, kept beside the workspace for the job: a hint that is checked before it is believed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.node.environment.change import Change, from_bytes, to_bytes
from scratchflow.workspace.own_scratch import make_own_scratch
from scratchflow.workspace.workspace import Workspace

_NAME = "environment"
# What a login bash reads; and what is written whenever a venv or a conda environment is made anew.
_STARTUP_FILES = (".bash_profile", ".bash_login", ".profile", ".bashrc")


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of the file. `stamps`: the files it depends on, with the time of their change."""

    key: str
    digest: str
    stamps: dict[str, int]


def cache_key(options: EnvironmentOptions, scratch: Path, job_id: int) -> str:
    """The same as long as the profile's table and the job are."""
    content = msgspec.json.encode([msgspec.to_builtins(options), str(scratch), job_id])
    return hashlib.sha256(content).hexdigest()


def read_cached(workspace: Workspace, key: str) -> Change | None:
    """The change under this key; None when there is none, or it is damaged, stale or not ours."""
    try:
        first, _, payload = _own_content(cache_file(workspace)).partition(b"\n")
        header = msgspec.json.decode(first, type=_Header)
    except (OSError, msgspec.DecodeError):
        return None
    is_whole = header.digest == hashlib.sha256(payload).hexdigest()
    if not is_whole or header.key != key or header.stamps != _stamps(header.stamps):
        return None
    return from_bytes(payload)


def write_cached(
    workspace: Workspace, key: str, change: Change, environment: Mapping[str, str]
) -> None:
    """Keeps the change, for us alone: variables may hold secrets. Without room it is not kept."""
    payload = to_bytes(change)
    stamps = _stamps(_depends_on(environment))
    digest = hashlib.sha256(payload).hexdigest()
    header = msgspec.json.encode(_Header(key=key, digest=digest, stamps=stamps))
    with suppress(OSError):
        make_own_scratch(workspace)
        replace_file(cache_file(workspace), header + b"\n" + payload)


def forget_cached(workspace: Workspace) -> None:
    """Makes the next one compute it anew."""
    with suppress(OSError):
        cache_file(workspace).unlink()


def cache_file(workspace: Workspace) -> Path:
    """Where it is kept: on the node, so that no other node takes it for its own."""
    return workspace.state / _NAME


def _own_content(path: Path) -> bytes:
    """The file's content; PermissionError when others could have written or read it."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != 0o600:
            raise PermissionError(path)
        return file.read()


def _depends_on(environment: Mapping[str, str]) -> list[str]:
    files = [f"{environment['HOME']}/{name}" for name in _STARTUP_FILES if environment.get("HOME")]
    if environment.get("VIRTUAL_ENV"):
        files.append(f"{environment['VIRTUAL_ENV']}/pyvenv.cfg")
    if environment.get("CONDA_PREFIX"):
        files.append(f"{environment['CONDA_PREFIX']}/conda-meta/history")
    return files


def _stamps(paths: Iterable[str]) -> dict[str, int]:
    """When each file changed last; 0 for one that is not there."""
    return {path: _changed_ns(path) for path in paths}


def _changed_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
