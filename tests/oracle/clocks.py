"""The time that the product sees: one that the oracle sets, or the machine's own, set wrong by some amount."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

EPOCH = datetime(2026, 11, 15, 9, 30, tzinfo=timezone.utc)


class SteppingClock:
    """Moves on by a second whenever the product looks at it. Exists in this process only."""

    def __init__(self) -> None:
        self.time = EPOCH

    def look(self) -> datetime:
        """What the product gets."""
        self.go_on(1)
        return self.time

    def go_on(self, seconds: int) -> None:
        """Time passes as it does."""
        self.time += timedelta(seconds=seconds)

    def jump(self, seconds: int) -> None:
        """Somebody sets the clock."""
        self.go_on(seconds)


class WallClock:
    """The machine's clock, ahead or behind: for programs, which read it themselves."""

    def __init__(self) -> None:
        self.ahead_s = 0

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make a program see this time. Stamps of files and waiting stay true."""
        if not self.ahead_s:
            return {}
        return {
            "LD_PRELOAD": str(_faketime()),
            "FAKETIME": f"{self.ahead_s:+d}s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": str(Path(__file__).parent / "set_clock"),
        }

    @property
    def time(self) -> datetime:
        return datetime.now(timezone.utc) + timedelta(seconds=self.ahead_s)

    def look(self) -> datetime:
        return self.time

    def go_on(self, seconds: int) -> None:
        """Real time passes by itself."""

    def jump(self, seconds: int) -> None:
        self.ahead_s += seconds


def _faketime() -> Path | None:
    """The library of Debian's package `faketime`."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


def why_no_clock() -> str:
    """Why no program's clock can be set here; empty when it can."""
    return "" if _faketime() else "faketime is not installed"


def forget_clock_of(process: int) -> None:
    """A process that is killed leaves what the library shares with its children."""
    for name in (f"faketime_shm_{process}", f"sem.faketime_sem_{process}"):
        with suppress(PermissionError):  # of a process of somebody else, which had the same number
            Path("/dev/shm", name).unlink(missing_ok=True)
