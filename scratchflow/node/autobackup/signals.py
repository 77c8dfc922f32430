"""The signals that end the loop of the auto-backup."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_ENDS = {
    signal.SIGTERM: "the job was told to end",
    signal.SIGINT: "interrupted",
    signal.SIGUSR1: "switched off",
}


def is_agent(pid: int) -> bool:
    """Whether the number, which was read from a file, still belongs to an agent of this user."""
    if pid <= 1:
        return False
    if not Path("/proc/self").exists():  # macOS has no such thing; the number is all there is
        return _is_process(pid)
    process = Path(f"/proc/{pid}")
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
        return process.stat().st_uid == os.getuid() and b"agent" in words
    except OSError:
        return False


def _is_process(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


class LoopSignals:
    """SIGTERM is the job's end; SIGUSR1 is `autobackup off`."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.reason = ""

    @contextmanager
    def caught(self) -> Iterator[None]:
        """While inside, they set `stop` and `reason` and end nothing by themselves."""
        before = {number: signal.getsignal(number) for number in (*_ENDS, signal.SIGHUP)}

        def arrived(signum: int, _frame: FrameType | None) -> None:
            self.reason = self.reason or _ENDS[signal.Signals(signum)]
            self.stop.set()

        for number in _ENDS:
            signal.signal(number, arrived)
        # Whoever started us may go: that is what we are for.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
