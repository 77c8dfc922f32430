"""Heartbeats of the auto-backup, one file a node: `<store>/<workspace>/heartbeats/<node>.json`.

They lie in the store because `status` runs on another machine, and the node may be gone.
"""

import os
import time
from glob import escape
from pathlib import Path
from typing import Literal

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.times import epoch
from scratchflow.store.directory import (
    FILE_MODE,
    HEARTBEATS_NAME,
    StoreDirectory,
    make_private_directory,
)
from scratchflow.store.failures import store_errors
from scratchflow.store.nodes import is_node_name

_LIMIT_BYTES = 65536

BEAT_S = 30.0
"""How often it beats while it waits."""
SILENT_S = 150.0
"""After this long without a beat it is dead, or cut off from the store, which is as bad."""


class OtherWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """Another workspace of ours on the same scratch, which the auto-backup saves too."""

    name: str
    store: str = ""
    # Its last snapshot, and when this auto-backup last saved it or found it unchanged.
    snapshot: str | None = None
    time: str | None = None
    error: str = ""
    # An auto-backup of its own runs on this node and saves it.
    own_loop: bool = False
    # The snapshot of a restore into it that has not finished: no backup is taken of it.
    restoring: str = ""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """The last heartbeat of one job's auto-backup; unknown keys are ignored."""

    node: str
    job_id: int | None
    step_id: int | None
    pid: int
    token: str
    every_s: float
    phase: Literal["waiting", "backing up", "ended"]
    time: str
    next_time: str | None = None
    # Why then: `regular`, `retry`, `final` or `closing`; empty when it is not known.
    next_why: str = ""
    last_time: str | None = None
    last_snapshot: str | None = None
    last_duration_s: float | None = None
    last_error: str | None = None
    priority: str = ""
    # Numbers are given out again after Slurm lost its state; names are not.
    job_name: str = ""
    # Goes up with every beat, so that a reader whose clock differs sees that it lives.
    beats: int = 0
    # Which settings it was started with, as a digest.
    settings: str = ""
    workspace_exists: bool | None = None
    # The symlink that keeps the workspace, or what is saved with it, from being saved.
    workspace_link: str = ""
    # Directories beside the workspace that were it until they were renamed.
    renamed: list[str] = []
    # The layer of the profile's environment that is not on the node, `venv` or `conda`, and the directory that it names.
    missing_layer: str = ""
    missing_path: str = ""
    # Of the last backup: how many warnings, and which paths it could not read (the first few).
    warnings: int = 0
    unsaved: int = 0
    unsaved_paths: list[str] = []
    shrunk: bool = False
    # Snapshots that its daily check found damaged.
    damaged: list[str] = []
    # The workspace that it is started for; it saves the others on that scratch, too.
    workspace: str = ""
    others: list[OtherWorkspace] = []

    def is_of(self, job_id: int | None, job_name: str) -> bool:
        """Whether it is this very job's."""
        same_name = job_id is None or self.job_name in {"", job_name}
        return self.job_id == job_id and same_name


def beat(place: StoreDirectory, heartbeat: Heartbeat) -> None:
    """Writes the node's heartbeat. Needs no lock: each node writes its own file."""
    if not is_node_name(heartbeat.node):
        raise ValueError(f"not a node: {heartbeat.node!r}")
    directory = place.directory / HEARTBEATS_NAME
    with store_errors(directory):
        make_private_directory(directory)
        content = msgspec.json.encode(heartbeat) + b"\n"
        replace_file(directory / f"{heartbeat.node}.json", content, mode=FILE_MODE)


def log_path(place: StoreDirectory, node: str) -> Path:
    """The log file of a node's auto-backup."""
    if not is_node_name(node):
        raise ValueError(f"not a node: {node!r}")
    return place.directory / HEARTBEATS_NAME / f"{node}.log"


def prepare(place: StoreDirectory) -> None:
    """Makes the directory, so that a log can be opened in it."""
    with store_errors(place.directory):
        make_private_directory(place.directory / HEARTBEATS_NAME)


def read_heartbeat(place: StoreDirectory, node: str) -> Heartbeat | None:
    """The node's last heartbeat; None if there is none that can be read."""
    if not is_node_name(node):
        return None
    file = place.directory / HEARTBEATS_NAME / f"{node}.json"
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            return decoded(os.read(descriptor, _LIMIT_BYTES), Heartbeat)
        finally:
            os.close(descriptor)
    except (OSError, msgspec.DecodeError):
        return None


def read_heartbeats(place: StoreDirectory) -> list[Heartbeat]:
    """The last heartbeats of all nodes."""
    try:
        names = sorted(os.listdir(place.directory / HEARTBEATS_NAME))
    except OSError:
        return []
    nodes = [name.removesuffix(".json") for name in names if name.endswith(".json")]
    return [heartbeat for heartbeat in (read_heartbeat(place, node) for node in nodes) if heartbeat]


def is_alive(heartbeat: Heartbeat, now_s: float) -> bool | None:
    """Whether the last heartbeat is recent by our clock; None if it lies in the future.

    Then the two clocks differ, and one look cannot tell: see `Pulses`.
    """
    beaten_s = epoch(heartbeat.time)
    if beaten_s is None or now_s - beaten_s > SILENT_S:
        return False
    return True if beaten_s - now_s <= SILENT_S else None


def current(
    place: StoreDirectory, node: str, job_id: int | None, job_name: str
) -> Heartbeat | None:
    """The last heartbeat of this job's auto-backup, unless it has ended. Looks at no clock."""
    heartbeat = read_heartbeat(place, node)
    if heartbeat is None or not heartbeat.is_of(job_id, job_name) or heartbeat.phase == "ended":
        return None
    return heartbeat


def living(place: StoreDirectory, node: str, job_id: int | None, job_name: str) -> Heartbeat | None:
    """The heartbeat of this job's auto-backup, if it is alive."""
    heartbeat = current(place, node, job_id, job_name)
    return heartbeat if heartbeat and is_alive(heartbeat, time.time()) else None


def covering(
    store: Path, workspace: str, node: str, job_id: int | None, job_name: str
) -> tuple[Heartbeat, OtherWorkspace] | None:
    """The auto-backup of another workspace in this store that saves this one too, on the job's node."""
    for place in _places(store, node):
        heartbeat = current(place, node, job_id, job_name)
        for other in heartbeat.others if heartbeat else ():
            is_this = other.name == workspace and os.path.realpath(other.store) == str(store)
            if heartbeat and is_this and not other.own_loop:
                return heartbeat, other
    return None


def _places(store: Path, node: str) -> list[StoreDirectory]:
    """The places of all workspaces in a store that have a heartbeat of this node; names may have two parts."""
    if not is_node_name(node):
        return []
    name = f"{HEARTBEATS_NAME}/{escape(node)}.json"
    found = [*store.glob(f"*/{name}"), *store.glob(f"*/*/{name}")]
    return [StoreDirectory(file.parent.parent) for file in sorted(found)]


class Pulses:
    """Tells over several looks whether heartbeats continue, by this machine's clock alone."""

    def __init__(self) -> None:
        self._seen: dict[str, _Pulse] = {}

    def is_alive(self, heartbeat: Heartbeat, now_s: float, monotonic_s: float) -> bool | None:
        """A heartbeat that changes is alive, whatever the clocks say; one that stops changing is dead."""
        sign = (heartbeat.token, heartbeat.beats, heartbeat.time)
        known = self._seen.get(heartbeat.node)
        if known is None or known.sign != sign:
            self._seen[heartbeat.node] = _Pulse(sign, monotonic_s, known is not None)
            return True if known else is_alive(heartbeat, now_s)
        if monotonic_s - known.since_s > SILENT_S:
            return False
        return True if known.changed else is_alive(heartbeat, now_s)


class _Pulse(msgspec.Struct, frozen=True):
    """A heartbeat, since when it has not changed, and whether it changed before."""

    sign: tuple[str, int, str]
    since_s: float
    changed: bool
