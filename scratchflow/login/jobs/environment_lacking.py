"""The profile's environment, where the snapshot that a job runs from lacks it: said before the job waits in the queue."""

from __future__ import annotations

import os
import posixpath

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import KIND_MASK, SYMLINK
from scratchflow.login.host import LoginHost
from scratchflow.model.ages import shown_id
from scratchflow.model.errors.jobs import JobLacksEnvironment
from scratchflow.model.text import printable
from scratchflow.node.environment.missing import directory_of, is_saved, save_command
from scratchflow.store.directory import StoreDirectory


def require_environment(
    login: LoginHost, place: StoreDirectory, snapshot: str, once_it_is_there: str
) -> None:
    """JobLacksEnvironment for one that the snapshot surely has not; `once_it_is_there` is what to do when a backup has it."""
    index: Index | None = None
    for layer in ("venv", "conda"):
        path = directory_of(login.profile.environment, layer)
        if not path or path.startswith("/"):
            continue
        index = index or open_index(place.archive(snapshot))
        if not _lacks(index, path):
            continue
        shown = f"`{printable(path)}` (`environment.{layer}`)"
        if is_saved(login.profile, path):
            first = ""
        else:
            beneath = posixpath.normpath(path).split("/")[0]
            command = save_command(login.profile, beneath)
            first = f"`{command}` saves it with the workspace; after that, "
        raise JobLacksEnvironment(
            reason=f"snapshot {shown_id(snapshot)}, from which it would run, has no {shown}",
            next_step=f"{first}{once_it_is_there}",
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
