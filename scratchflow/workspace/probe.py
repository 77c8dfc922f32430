"""What the file system of scratch can do, found out by trying it in a temporary directory there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX
from scratchflow.disk.exchange import exchange
from scratchflow.workspace.lock import NO_LOCKS

# Another process: some file systems let locks of one process pass.
_IS_FREE = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"


class ScratchAbilities(msgspec.Struct, frozen=True, kw_only=True):
    """What works there."""

    locks: bool
    exchanges_names: bool

    def dangers(self) -> list[str]:
        """What is missing and cannot be made up for."""
        return [] if self.locks else [f"{NO_LOCKS}: `backup` and `restore` refuse to run"]

    def limits(self) -> list[str]:
        """What is missing, and what that means."""
        if self.exchanges_names:
            return []
        return [
            (
                "two names cannot be swapped in one step: a file that a program writes in the moment when"
                " `restore` replaces it loses that write; stop programs before you restore"
            )
        ]


def probe_scratch(directory: Path) -> ScratchAbilities:
    """Tries each ability once; leaves nothing behind. OSError when nothing can be made there at all."""
    top = directory / f"{TEMP_PREFIX}probe-{os.urandom(6).hex()}"
    os.mkdir(top, 0o700)
    try:
        for name in ("one", "other"):
            (top / name).write_bytes(name.encode())
        return ScratchAbilities(locks=_locks(top / "one"), exchanges_names=_exchanges_names(top))
    finally:
        shutil.rmtree(top, ignore_errors=True)


def _locks(file: Path) -> bool:
    """Whether a lock of this process keeps another one off."""
    import fcntl

    with file.open() as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        asked = [sys.executable, "-I", "-S", "-c", _IS_FREE, str(file)]
        tried = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return tried.returncode != 0


def _exchanges_names(top: Path) -> bool:
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return exchange(b"one", b"other", descriptor) and (top / "one").read_bytes() == b"other"
    except OSError:
        return False
    finally:
        os.close(descriptor)
