"""The profile's environment, where the snapshot that a job runs from lacks it: said before the job waits in the queue."""

from __future__ import annotations

import os
import posixpath

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import KIND_MASK, SYMLINK
from scratchflow.login.host import LoginHost
from scratchflow.model.ages import shown_id
from scratchflow.model.job import JobRecord
from scratchflow.model.text import printable
from scratchflow.node.environment.missing import directory_of, is_saved, save_command
from scratchflow.store.directory import StoreDirectory


def warn_of_lacking(
    login: LoginHost, place: StoreDirectory, record: JobRecord, now_command: str
) -> None:
    """Names an environment that the job would miss, and `now_command`, which submits it from the workspace as it is now."""
    index: Index | None = None
    for layer in ("venv", "conda"):
        path = directory_of(login.profile.environment, layer)
        if not path or path.startswith("/"):
            continue
        index = index or open_index(place.archive(record.snapshot))
        if not _lacks(index, path):
            continue
        shown = printable(path)
        first = ""
        if not is_saved(login.profile, path):
            first = f"`{save_command(login.profile, posixpath.normpath(path).split('/')[0])}` saves it with the workspace; after that, "
        login.caution(
            "environment.not_saved",
            f"snapshot {shown_id(record.snapshot)}, from which the job runs, has no `{shown}` (`environment.{layer}`): the job will fail."
            f" {first}`{now_command}` runs it from the workspace as it is now",
        )


def _lacks(index: Index, path: str) -> bool:
    """Whether it is surely not there; where a link leads, only the node knows."""
    here = ""
    for name in posixpath.normpath(path).split("/"):
        if name == "..":
            return False
        here = posixpath.join(here, name)
        entry = index.find(os.fsencode(here))
        if entry is not None and index.mode[entry] & KIND_MASK == SYMLINK:
            return False
    return index.find(os.fsencode(here)) is None
