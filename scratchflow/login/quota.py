"""How much room this user's quota leaves, as the programs of the host say it; many hosts have none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, Run
from scratchflow.disk.file_systems import Mounted, mounted_at

# A quota is one more word about a place, not worth a long wait for a server that is away.
_TIMEOUT_S = 10.0
_KIB = 1024


def quota_left_bytes(directory: Path, user: str, run: Run) -> int | None:
    """What the user may still write there; None where there is no quota, or nobody can tell."""
    mounted = mounted_at(directory)
    if mounted is None:
        return None
    if mounted.kind == "lustre":
        text = _said(run, ["lfs", "quota", "-q", "-u", user, str(directory)])
        return _left(text.split()[1:4])
    text = _said(run, ["quota", "--no-wrap", "--user", user])
    return left_on(mounted, text)


def left_on(mounted: Mounted, text: str) -> int | None:
    """What `quota --no-wrap` says about one file system, which it names by its device."""
    for fields in map(str.split, text.splitlines()):
        if len(fields) >= 4 and fields[0] in {mounted.source, mounted.point}:
            return _left(fields[1:4])
    return None


def _left(columns: list[str]) -> int | None:
    """From KiB used, the soft and the hard limit, where 0 is no limit and `*` marks too much."""
    numbers = [column.rstrip("*") for column in columns]
    if len(numbers) != 3 or not all(number.isascii() and number.isdigit() for number in numbers):
        return None
    used, *limits = map(int, numbers)
    lowest = min(_set(limits), default=None)
    return None if lowest is None else max(0, lowest - used) * _KIB


def _set(limits: list[int]) -> Iterator[int]:
    return (limit for limit in limits if limit)


def _said(run: Run, argv: list[str]) -> str:
    """`quota` also exits with 1 when something is over its limit: what it prints counts."""
    try:
        return run(argv, _TIMEOUT_S).text
    except (CommandMissing, CommandUnanswered):
        return ""
