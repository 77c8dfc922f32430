"""Records of servers on nodes, one file each in the home that all hosts of the cluster share.

Not in the store: a server has nothing to do with snapshots, and runs while the store is away. The files hold tokens, so they
are 0600 in a directory that is 0700.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file, write_new
from scratchflow.disk.private import PRIVATE, make_private_directories
from scratchflow.model.requests import ServerKind

_DIRECTORY = ".local/share/scratchflow/servers"
_LIMIT_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)


class ServerRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one server, in a file that only its user may read; unknown keys are ignored."""

    name: str
    kind: ServerKind
    words: tuple[str, ...]
    cwd: str = ""
    start: str
    """Tells one start of this name from another."""
    since: float = 0
    """When it was asked for, in seconds since 1970."""
    node: str = ""
    job_id: int | None = None
    step_id: int | None = None
    pid: int = 0
    """The process that started the program, and ends it."""
    socket: str = ""
    port: int = 0
    """A port on the node's loopback, for a program that cannot listen on a socket."""
    token: str = ""
    log: str = ""
    ended: str = ""
    """How it ended; empty while it runs."""

    @property
    def page(self) -> str:
        """What a browser asks for first, without the token."""
        return "/lab" if self.kind == "jupyter" else "/"


class Listening(msgspec.Struct, frozen=True, kw_only=True):
    """What the node says of a server that answers."""

    node: str
    step_id: int | None
    pid: int
    socket: str
    port: int
    log: str
    open_to_the_network: bool = False
    silent: bool = False
    """Whether it listens and gave no answer to a first request."""
    missing_logs: str = ""
    """The directory whose logs TensorBoard is to show, when it is not there."""


def is_server_name(name: str) -> bool:
    """Whether a file, a tunnel and a person can be given this name."""
    return bool(_NAME.fullmatch(name)) and not name.endswith(".json")


def name_for(word: str) -> str:
    """A name made of a program's path: `python3` of `/usr/bin/python3`."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "", os.path.basename(word)).lstrip("._-")[:30]
    return plain if is_server_name(plain) else "server"


def read_servers(home: Path, profile: str) -> list[ServerRecord]:
    """All that can be read, by name."""
    try:
        files = sorted(_directory(home, profile).glob("*.json"), key=lambda file: file.stem)
    except OSError:
        return []
    found = (read_server(home, profile, file.stem) for file in files)
    return [record for record in found if record is not None]


def read_server(home: Path, profile: str, name: str) -> ServerRecord | None:
    """One record; None when there is none that can be read."""
    if not is_server_name(name):
        return None
    try:
        descriptor = os.open(_file(home, profile, name), os.O_RDONLY | os.O_NOFOLLOW)
        try:
            text = os.read(descriptor, _LIMIT_BYTES)
        finally:
            os.close(descriptor)
        found = msgspec.json.decode(text, type=ServerRecord)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.name == name else None


def claim_server(home: Path, profile: str, record: ServerRecord) -> bool:
    """Writes the record if the name is free; of two that start at once, one gets it."""
    _make_directory(home, profile)
    try:
        write_new(_file(home, profile, record.name), _encoded(record), mode=0o600)
    except FileExistsError:
        return False
    return True


def write_server(home: Path, profile: str, record: ServerRecord) -> None:
    """Replaces the record. OSError when the home cannot be written."""
    _make_directory(home, profile)
    replace_file(_file(home, profile, record.name), _encoded(record))


def answering(record: ServerRecord, listening: Listening) -> ServerRecord:
    """The record of a server that answers."""
    return msgspec.structs.replace(
        record,
        node=listening.node,
        step_id=listening.step_id,
        pid=listening.pid,
        socket=listening.socket,
        port=listening.port,
        log=listening.log,
    )


def mark_answering(
    home: Path, profile: str, name: str, start: str, listening: Listening
) -> bool | None:
    """Notes where this very start listens: whoever asked for it may be gone.

    False when the record is another start's; None when there is none, or the home cannot be written.
    """
    record = read_server(home, profile, name)
    if record is None or record.start != start:
        return None if record is None else False
    try:
        write_server(home, profile, answering(record, listening))
    except OSError:
        return None
    return True


def mark_ended(home: Path, profile: str, name: str, start: str, reason: str) -> None:
    """Notes how this very start ended; another one that has the name by now is left alone."""
    record = read_server(home, profile, name)
    if record is not None and record.start == start:
        with suppress(OSError):
            write_server(home, profile, msgspec.structs.replace(record, ended=reason))


def forget_server(home: Path, record: ServerRecord, profile: str) -> None:
    """Removes the record of this very start."""
    now = read_server(home, profile, record.name)
    if now is not None and now.start == record.start:
        with suppress(OSError):
            _file(home, profile, record.name).unlink(missing_ok=True)


def forget_servers_of(home: Path, profile: str, job_ids: Sequence[int]) -> None:
    """Removes the records of jobs that have ended."""
    for record in read_servers(home, profile):
        if record.job_id in job_ids:
            forget_server(home, record, profile)


def _encoded(record: ServerRecord) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _make_directory(home: Path, profile: str) -> None:
    directory = _directory(home, profile)
    make_private_directories(directory)
    os.chmod(directory, PRIVATE)


def _directory(home: Path, profile: str) -> Path:
    return home / _DIRECTORY / profile


def _file(home: Path, profile: str, name: str) -> Path:
    return _directory(home, profile) / f"{name}.json"
