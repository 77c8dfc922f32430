"""What `/proc` tells of the whole machine, and what a file system tells of its room."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from scratchflow.model.results.usage import DiskUse

_KIB = 1024


class Busy(msgspec.Struct, frozen=True):
    """Ticks of all cores since the start: how many were spent working, and how many passed."""

    working: int
    passed: int
    cores: int


def busy(root: Path = Path("/")) -> Busy | None:
    """None where there is no `/proc/stat`."""
    lines = _text(root / "proc/stat").splitlines()
    total = next((line.split()[1:9] for line in lines if line.startswith("cpu ")), [])
    ticks = [int(tick) for tick in total if tick.isdigit()]
    if len(ticks) < 5:
        return None
    cores = sum(line.startswith("cpu") for line in lines) - 1
    idle, waiting = ticks[3:5]
    return Busy(working=sum(ticks) - idle - waiting, passed=sum(ticks), cores=cores)


def memory(root: Path = Path("/")) -> tuple[int, int] | None:
    """Bytes in use, and all there are; None when nobody says."""
    pairs = (line.split() for line in _text(root / "proc/meminfo").splitlines())
    table = {pair[0].rstrip(":"): int(pair[1]) for pair in pairs if len(pair) > 1}
    if "MemTotal" not in table or "MemAvailable" not in table:
        return None
    total = table["MemTotal"] * _KIB
    return total - table["MemAvailable"] * _KIB, total


def disk(path: Path) -> DiskUse | None:
    """The file system of this directory; before it is made, of the one that it would be made in.

    None when that does not answer: a disk that has failed, a mount that is gone.
    """
    found = _room(path)
    if found is None:
        return None
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    free = found.f_bavail * found.f_frsize
    taken = found.f_files - found.f_favail
    return DiskUse(
        path=str(path),
        used_bytes=used,
        free_bytes=free,
        # What is kept for root is neither.
        total_bytes=used + free,
        percent=percent(used, used + free),
        files_percent=percent(taken, found.f_files) if found.f_files else None,
    )


def _room(path: Path) -> os.statvfs_result | None:
    for there in (path, *path.parents):
        try:
            return os.statvfs(there)
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None


def percent(part: float, whole: float) -> int:
    """Rounded up, as `df` does: 100 only when nothing is left, 0 only when nothing is used."""
    return min(100, -int(-100 * part // whole)) if whole > 0 else 0


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""
