"""The file that ssh writes its log to, for one command; and those that killed commands left."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "scratchflow-ssh-"
# With the number of the process that made it, and where that number means this process.
_NAME = re.compile(
    re.escape(PREFIX) + r"(?:(?P<process>\d{1,9})-)?(?:(?P<where>[0-9a-f]{8}\.\d+)-)?[0-9a-f]{16}",
    re.ASCII,
)
# TMPDIR may be shared by hosts and containers, where a process of that number says nothing.
STALE_AFTER_S = 86400.0
_swept: set[str] = set()


@contextlib.contextmanager
def log_file() -> Iterator[Path]:
    """An empty file, which goes at the end; the first one of a process also removes what killed ones left there."""
    path = Path(_new_file())
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        directory = str(path.parent)
        if directory not in _swept:
            _swept.add(directory)
            remove_stale(path.parent, time.time())


def remove_stale(directory: Path, now_s: float) -> None:
    """Removes our own logs whose process is gone; those of other hosts when they are older than a day. A failure costs a small file."""
    here = process_space()
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found is None:
                continue
            after_s = 0.0 if here and found["where"] == here else STALE_AFTER_S
            if _is_stale(entry, found["process"], now_s - after_s):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def process_space() -> str:
    """A name for where the numbers of processes are ours: this boot of this machine, and this container; empty when it is not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read(8)
        space = os.readlink("/proc/self/ns/pid")
    except OSError:  # no Linux
        return ""
    return f"{boot}.{space.removeprefix('pid:[').removesuffix(']')}"


def _is_stale(entry: os.DirEntry[str], process: str | None, before_s: float) -> bool:
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:  # gone meanwhile
        return False
    is_ours = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
    return is_ours and about.st_mtime < before_s and not _runs(process)


def _runs(process: str | None) -> bool:
    """Whether there is such a process, ours or another's."""
    if process is None:
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _new_file() -> str:
    """An empty file for us alone, as `tempfile` makes it, which takes longer to load than ssh to read its config."""
    space = process_space()
    prefix = f"{PREFIX}{os.getpid()}-{space}{'-' if space else ''}"
    with contextlib.suppress(OSError):
        path = os.path.join(os.environ.get("TMPDIR") or "/tmp", prefix + os.urandom(8).hex())  # noqa: S108 - a name that nobody can guess, and O_EXCL
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        return path
    import tempfile  # knows more places

    descriptor, name = tempfile.mkstemp(prefix=prefix)
    os.close(descriptor)
    return name
