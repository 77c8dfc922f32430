"""One sync at a time works with a home, whichever login host it runs on."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scratchflow.disk.private import make_private_directories
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock, looks

_WAIT_S = 90.0
_LOOK_S = 0.5
_BEAT_S = 5.0
# Some file systems lock for each host by itself: one on another host is known by its note, which changes.
_STILL_S = 30.0


@contextmanager
def alone_in(
    directory: Path,
    waiting: Callable[[], None],
    *,
    host: str = "",
    clock: Clock = SYSTEM_CLOCK,
) -> Iterator[bool]:
    """Whether nobody else works with this home; one that lost its connection is given the time to end.

    `waiting` is called once when somebody has to be waited for.
    """
    make_private_directories(directory)
    host = host or os.uname().nodename
    lock = os.open(directory / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    note = directory / "running"
    try:
        is_ours = _locked(lock, waiting, clock) and _is_still(note, host, waiting, clock)
        if not is_ours:
            yield False
            return
        is_over = threading.Event()
        threading.Thread(target=_beat, args=(note, host, is_over), daemon=True).start()
        try:
            yield True
        finally:
            is_over.set()
            with suppress(OSError):
                note.unlink()
    finally:
        os.close(lock)


def _locked(lock: int, waiting: Callable[[], None], clock: Clock) -> bool:
    has_waited = False
    for _ in looks(_WAIT_S, _LOOK_S, clock):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not has_waited:
                waiting()
            has_waited = True
        else:
            return True
    return False


def _is_still(note: Path, host: str, waiting: Callable[[], None], clock: Clock) -> bool:
    """Whether no other host writes its note. On our own host the lock alone says it."""
    before = _read(note)
    if not before or before.split()[0] == host:
        return True
    waiting()
    return all(_read(note) in {before, ""} for _ in looks(_STILL_S, _LOOK_S, clock))


def _read(note: Path) -> str:
    try:
        return note.read_text()[:200].strip()
    except OSError:
        return ""


def _beat(note: Path, host: str, is_over: threading.Event) -> None:
    count = 0
    while True:
        with suppress(OSError):
            note.write_text(f"{host} {os.getpid()} {count}\n")
        count += 1
        if is_over.wait(_BEAT_S):
            return
