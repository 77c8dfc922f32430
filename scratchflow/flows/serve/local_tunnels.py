"""The tunnels of this machine: a file and a lock for each, so that every command knows which ones live.

The lock goes with the process, however that ends.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.disk.private import make_private_directories
from scratchflow.disk.process_lock import is_locked, lock_now
from scratchflow.flows.serve.former_ports import host_directory, note_end
from scratchflow.process.waiting import looks

LEAD_ON = signal.SIGUSR1
"""Tells the process of a tunnel to connect anew."""
_LOCK_SUFFIX = ".lock"
_END_S = 10.0
_LOCK_S = 1.0


class TunnelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One tunnel. It leads to a server of ours, or to a port or socket on the node."""

    name: str
    pid: int
    local_port: int
    server: str = ""
    to: str = ""
    problem: str = ""
    """Why it leads nowhere at the moment."""

    @property
    def url(self) -> str:
        """The address of the local port."""
        return f"http://127.0.0.1:{self.local_port}"


def read_tunnels(profile: str) -> list[TunnelRecord]:
    """Those that live; what killed ones left is removed."""
    directory = _directory(profile)
    try:
        names = sorted(file.stem for file in directory.glob("*.json"))
    except OSError:
        return []
    found = (read_tunnel(profile, name) for name in names)
    return [record for record in found if record is not None]


def read_tunnel(profile: str, name: str) -> TunnelRecord | None:
    """The tunnel of this name, if it lives."""
    file = _directory(profile) / f"{name}.json"
    if not _is_locked(file.with_suffix(_LOCK_SUFFIX)):
        killed = _decoded(file)
        if killed is not None:
            note_end(killed.local_port, time.time())
        for left in (file, file.with_suffix(_LOCK_SUFFIX)):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        return None
    return _decoded(file)


def write_tunnel(profile: str, record: TunnelRecord) -> None:
    """Notes it. OSError when the disk cannot be written."""
    replace_file(_directory(profile) / f"{record.name}.json", msgspec.json.encode(record) + b"\n")


@contextmanager
def holding_tunnel(profile: str, name: str) -> Iterator[bool]:
    """While inside, the tunnel lives; False when another process has it."""
    directory = _directory(profile)
    make_private_directories(directory)
    lock = directory / f"{name}{_LOCK_SUFFIX}"
    descriptor = next(
        (one for _ in looks(_LOCK_S, 0.05) if (one := _locked(lock)) is not None), None
    )
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        for left in (lock.with_suffix(".json"), lock):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        os.close(descriptor)


def is_listed(profile: str, name: str) -> bool:
    """Whether commands can find the tunnel that holds this name: somebody may have removed the files, or the home."""
    return (_directory(profile) / f"{name}{_LOCK_SUFFIX}").exists()


def end_tunnel(profile: str, record: TunnelRecord) -> None:
    """Ends it, and waits until its port is free."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(record.pid, signal.SIGTERM)
    lock = _directory(profile) / f"{record.name}{_LOCK_SUFFIX}"
    for _ in looks(_END_S, 0.05):
        if not _is_locked(lock):
            return
    with suppress(ProcessLookupError, PermissionError):
        os.kill(record.pid, signal.SIGKILL)


def lead_on(profile: str) -> None:
    """Lets tunnels that lead to no server connect anew: the workspace has moved, and the old node may live on."""
    for record in read_tunnels(profile):
        if not record.server:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(record.pid, LEAD_ON)


def end_tunnels(profile: str, *, servers: bool = True) -> list[str]:
    """Ends all of the profile, or only those that lead to no server; their names."""
    found = [one for one in read_tunnels(profile) if servers or not one.server]
    for record in found:
        end_tunnel(profile, record)
    return [record.name for record in found]


def _decoded(file: Path) -> TunnelRecord | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=TunnelRecord)
    except (OSError, msgspec.DecodeError):
        return None


def _locked(lock: Path) -> int | None:
    """The file, locked for us; None when another process has it, or looks at it just now."""
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    with suppress(OSError):
        # One who looked before we had it may have removed the name.
        if lock_now(descriptor) and os.stat(lock).st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    os.close(descriptor)
    return None


def _is_locked(lock: Path) -> bool:
    try:
        return is_locked(lock)
    except OSError:
        return False


def _directory(profile: str) -> Path:
    return host_directory() / profile
