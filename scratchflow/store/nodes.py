"""Warm nodes: which node's scratch equals which snapshot, as `nodes/<node>.json` tells it.

A record is a hint: it saves a full restore, and a restore compares before it believes. It says
nothing about what was changed on that scratch since; only the node can know.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.store.directory import FILE_MODE, StoreDirectory, make_private_directory
from scratchflow.store.failures import store_errors

_NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
_SUFFIX = ".json"
_RECORD_LIMIT_BYTES = 65536
_MOST_EARLIER_PATHS = 8


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The copy that a node's scratch held when the record was written; unknown keys are passed over."""

    node: str
    snapshot: str
    workspace_path: str
    job_id: int | None
    # The job's name, which holds a random token: Slurm gives a number out again after it lost its
    # last seconds. Empty in records of earlier versions, and when Slurm did not say.
    job_name: str = ""
    time: str
    # True and False are what was seen at `time`; None is not known.
    dirty: bool | None = None
    # The copy is removed at the end of its job: to any other job the node is not warm.
    goes_with_job: bool = False
    # What the last backup there could not read: how many paths, and the first of them.
    unsaved: int = 0
    unsaved_paths: list[str] = []
    # The snapshot of a restore that has begun to change the copy and is not through.
    restoring: str = ""
    # The job of that restore, which may be a later one than the copy's; None in records of earlier versions.
    restoring_job: int | None = None
    # Where on this node copies were before, the latest first: another scratch in the profile, or another profile.
    earlier_paths: list[str] = []
    # Commands went on to the copy of another job while this one's was open: work that is newer stays the newest.
    left: bool = False

    def moved_to(self, workspace_path: str) -> list[str]:
        """The `earlier_paths` of a record that follows this one and is of this path; without a copy that went with its job."""
        last = [] if self.goes_with_job else [self.workspace_path]
        paths = dict.fromkeys([*last, *self.earlier_paths])
        paths.pop(workspace_path, None)
        return list(paths)[:_MOST_EARLIER_PATHS]

    @property
    def restored_by(self) -> int | None:
        """The job of the restore that is not through."""
        return self.job_id if self.restoring_job is None else self.restoring_job

    def is_of(self, job_id: int | None, job_name: str) -> bool:
        """Whether this job wrote it; by its number alone where one of the names is not known."""
        names = {self.job_name, job_name}
        return self.job_id == job_id and ("" in names or len(names) == 1)


def scratch_of(workspace_path: str, workspace: str) -> Path:
    """The scratch that the workspace of this name was on, when this was its path."""
    return Path(workspace_path.removesuffix(f"/{workspace}") or "/")


def is_node_name(text: str) -> bool:
    """Whether the text may become a file name. Slurm's words are foreign text."""
    return _NODE_NAME.fullmatch(text) is not None


def record_node(place: StoreDirectory, record: NodeRecord) -> None:
    """Replaces the node's record: readers see the old one or the new one. Needs no lock."""
    if not is_node_name(record.node) or not is_snapshot_id(record.snapshot):
        raise ValueError(f"not a record of a node and a snapshot: {record!r}")
    with store_errors(place.nodes):
        make_private_directory(place.nodes)
        replace_file(_file(place, record.node), msgspec.json.encode(record) + b"\n", mode=FILE_MODE)


def leave_copies(place: StoreDirectory, is_left: Callable[[NodeRecord], bool]) -> None:
    """Notes of each of these copies that commands went on to another one."""
    for record in read_nodes(place):
        if not record.left and is_left(record):
            record_node(place, msgspec.structs.replace(record, left=True))


def read_nodes(place: StoreDirectory) -> list[NodeRecord]:
    """Every record that can be read, by node name; what cannot be read is no loss and is passed over."""
    with store_errors(place.nodes):
        try:
            names = sorted(os.listdir(place.nodes))
        except FileNotFoundError:
            return []
    nodes = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    records = (_read(place, node) for node in nodes if is_node_name(node))
    return [record for record in records if record is not None]


def _read(place: StoreDirectory, node: str) -> NodeRecord | None:
    try:
        descriptor = os.open(_file(place, node), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            content = os.read(descriptor, _RECORD_LIMIT_BYTES)
        finally:
            os.close(descriptor)
        record = decoded(content, NodeRecord)
    except (OSError, msgspec.DecodeError):
        return None
    is_sound = record.node == node and is_snapshot_id(record.snapshot)
    return record if is_sound else None


def _file(place: StoreDirectory, node: str) -> Path:
    return place.nodes / f"{node}{_SUFFIX}"
