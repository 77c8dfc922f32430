"""What the store's file system can do, found out by trying it in a temporary directory inside the store."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from scratchflow.disk.direct import aligned_buffer, set_direct
from scratchflow.disk.durable import TEMP_PREFIX

_DIRECT_BYTES = 4096
# How often a file is replaced under a reader's eyes.
_REPLACED = 20


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What works there. `dangers` and `limits` say what each missing one means for the user."""

    hard_links: bool
    exclusive_create: bool
    refuses_full_directory: bool
    replaces_by_rename: bool
    replaces_at_once: bool
    syncs_directories: bool
    direct_io: bool

    @property
    def is_safe(self) -> bool:
        """Whether the lock and the commit can be relied on."""
        return not self.dangers()

    def dangers(self) -> list[str]:
        """What is missing and cannot be made up for."""
        return self._missing(_DANGERS)

    def limits(self) -> list[str]:
        """What is missing, and what scratchflow does instead; the worst first."""
        return self._missing(_LIMITS)

    def _missing(self, texts: dict[str, str]) -> list[str]:
        return [words for name, words in texts.items() if not getattr(self, name)]


_DANGERS = {
    "exclusive_create": "no exclusive creation of files: two backups at once may both hold the store",
    "refuses_full_directory": "rename replaces a directory that is not empty: two backups at once may both hold the store",
    "replaces_by_rename": "rename does not replace a file: notes beside the snapshots cannot be updated",
}
_LIMITS = {
    "hard_links": "no hard links: names are looked at before they are taken, so two commands that take over a dead backup's lock in the same instant may both hold the store",
    "syncs_directories": "directories cannot be synced: the newest snapshot may be missing after a power cut of the file server",
    "replaces_at_once": "rename leaves a moment without the file: `status` may miss a note; the next look shows it",
    "direct_io": "no O_DIRECT: archives go through the page cache, so a backup takes more processor time, and reading back may read memory instead of the disk",
}


def probe_store(directory: Path) -> Abilities:
    """Tries each ability once; leaves nothing behind. OSError when nothing can be made there at all."""
    top = directory / f"{TEMP_PREFIX}probe-{os.urandom(6).hex()}"
    os.mkdir(top, 0o700)
    try:
        (top / "file").write_bytes(b"x")
        return Abilities(
            hard_links=_works(lambda: os.link(top / "file", top / "link")),
            exclusive_create=_refuses(lambda: _create(top / "file"), {errno.EEXIST}),
            refuses_full_directory=_refuses_full_directory(top),
            replaces_by_rename=_replaces_by_rename(top),
            replaces_at_once=_replaces_at_once(top),
            syncs_directories=_works(lambda: _sync(top)),
            direct_io=_works(lambda: _go_direct(top / "direct")),
        )
    finally:
        shutil.rmtree(top, ignore_errors=True)


def _works(action: Callable[[], object]) -> bool:
    try:
        action()
    except (OSError, AttributeError):
        return False
    return True


def _refuses(action: Callable[[], object], numbers: set[int]) -> bool:
    try:
        action()
    except OSError as error:
        return error.errno in numbers
    return False


def _create(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _refuses_full_directory(top: Path) -> bool:
    whole, held = top / "whole", top / "held"
    for directory in (whole, held):
        os.mkdir(directory, 0o700)
        (directory / directory.name).touch()
    # SFTP says EPERM.
    refused = _refuses(lambda: os.rename(whole, held), {errno.ENOTEMPTY, errno.EEXIST, errno.EPERM})
    return refused and os.listdir(held) == ["held"]


def _replaces_by_rename(top: Path) -> bool:
    (top / "new").write_bytes(b"new")
    (top / "old").write_bytes(b"old")
    return (
        _works(lambda: os.replace(top / "new", top / "old"))
        and (top / "old").read_bytes() == b"new"
    )


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replaces_at_once(top: Path) -> bool:
    """Whether a reader always meets the file, old or new, while it is replaced again and again."""
    note, missed, ended = top / "note", [], threading.Event()
    note.write_bytes(b"0")

    def read() -> None:
        while not ended.is_set():
            try:
                missed.extend([] if note.read_bytes() else ["empty"])
            except OSError as error:
                missed.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(_REPLACED):
            (top / "next").write_bytes(str(number).encode())
            os.replace(top / "next", note)
    except OSError:
        return False
    finally:
        ended.set()
        reader.join()
    return not missed


def _go_direct(path: Path) -> None:
    """Writes and reads as archives are written and read; OSError where that goes through the cache."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        if not set_direct(descriptor, on=True):
            raise OSError(errno.EINVAL, "O_DIRECT is refused")
        page = aligned_buffer(_DIRECT_BYTES)
        os.write(descriptor, page)
        os.preadv(descriptor, [page], 0)
    finally:
        os.close(descriptor)
