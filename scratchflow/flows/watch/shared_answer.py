"""The last answer of the one watch that asks the cluster, in a file beside its lock, for the other watches of this user.

The lock goes with the process, however that ends. Whoever holds it writes; whoever does not reads, and believes
only an answer that was written since this machine was booted and is younger than `FRESH_S`. Time asleep counts.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.config.file import users_directory
from scratchflow.disk.memo import write_memo
from scratchflow.disk.name_digest import name_digest
from scratchflow.disk.private import make_private_directories
from scratchflow.disk.process_lock import try_lock
from scratchflow.model.results.status import StatusShown

FRESH_S = 90.0
"""The login host speaks about once a minute; an answer that is older is of a watch that stands still."""
_MOST_BYTES = 1 << 24
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
# Goes on while the machine is asleep: the second one does so where the first is missing, on a Mac.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def awake_or_asleep_s() -> float:
    """Seconds that are the same for all processes of this machine, and that no one can set."""
    return time.clock_gettime(_CLOCK)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster said, and when it arrived here."""

    boot: str
    at_s: float
    pid: int
    status: StatusShown


def answer_directory() -> Path:
    """Of this host alone: hosts that share a home share no processes. OSError when it is not ours alone."""
    # A Mac changes its name with the network, and shares no home.
    host = os.uname().nodename if sys.platform == "linux" else "here"
    directory = users_directory("cache") / "watch" / host
    make_private_directories(directory)
    status = directory.lstat()
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(f"{directory} is not private")
    return directory


class SharedAnswer:
    """The files for one question: `asked` is all that the answer depends on. Every method may raise OSError."""

    def __init__(
        self, directory: Path, asked: Any, *, now_s: Callable[[], float] = awake_or_asleep_s
    ) -> None:
        name = name_digest(repr(asked).encode())
        self._lock = directory / f"{name}.lock"
        self._file = directory / f"{name}.json"
        self._now_s = now_s
        self._boot = _boot_id()
        self._held: int | None = None

    def take(self) -> bool:
        """Whether we are the one that asks, from now on or already. What a former one wrote is removed."""
        if self._is_ours():
            return True
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            # One that ends, or takes over, may have removed the name since we opened it.
            is_taken = try_lock(descriptor) and _has_name(descriptor, self._lock)
            if is_taken:
                self._file.unlink(missing_ok=True)
        except BaseException:
            os.close(descriptor)
            raise
        if not is_taken:
            os.close(descriptor)
            return False
        self._held = descriptor
        return True

    def offer(self, status: StatusShown) -> bool:
        """Writes what the cluster said just now. False when another watch has a fresh answer: that one asks.

        One that has the lock and no fresh answer stands still. The lock is taken from it by a new file of that name.
        """
        at_s = self._now_s()
        if not self.take():
            if self.fresh() is not None:
                return False
            self._take_over()
        answer = Answer(boot=self._boot, at_s=at_s, pid=os.getpid(), status=status)
        write_memo(str(self._file), msgspec.json.encode(answer))
        return True

    def fresh(self) -> Answer | None:
        """The last answer, if the one that asks is alive as far as is known."""
        try:
            answer = msgspec.json.decode(_read(self._file), type=Answer)
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        is_young = 0 <= self.age_s(answer) <= FRESH_S
        return answer if is_young and answer.boot == self._boot else None

    def age_s(self, answer: Answer) -> float:
        """How long ago it arrived."""
        return self._now_s() - answer.at_s

    def give_back(self) -> None:
        """Another one may ask. Never raises."""
        with suppress(OSError):
            if self._is_ours():
                self._file.unlink(missing_ok=True)
                self._lock.unlink(missing_ok=True)
        self._close()

    def _take_over(self) -> None:
        aside = self._lock.with_name(f"{self._lock.name}.{os.urandom(4).hex()}")
        descriptor = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            try_lock(descriptor)
            os.replace(aside, self._lock)
        except BaseException:
            os.close(descriptor)
            aside.unlink(missing_ok=True)
            raise
        self._held = descriptor

    def _is_ours(self) -> bool:
        if self._held is not None and not _has_name(self._held, self._lock):
            self._close()
        return self._held is not None

    def _close(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _has_name(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_MOST_BYTES)


def _boot_id() -> str:
    """Tells one boot from the next, where the system says so."""
    try:
        return Path(_BOOT_ID).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
