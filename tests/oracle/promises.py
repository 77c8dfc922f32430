"""What the oracle holds a command to: plain functions over photographs and manifests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from scratchflow.model.snapshot import Manifest
from scratchflow.store.catalogue import begun_at, taken_at
from tests.oracle.photograph import Node, Photograph

# Snapshots that scratchflow takes by itself must not push out those that somebody wanted.
WANTED = {"asked", "auto", "final", "created", "imported"}


class Broken(AssertionError):
    """A promise was not kept."""


def is_excluded(inside: bytes, patterns: Sequence[bytes], *, is_directory: bool) -> bool:
    """Whether a path beneath its root is excluded by one of the few patterns the oracle uses."""
    parts = inside.split(b"/")
    for number, part in enumerate(parts):
        directory = is_directory or number < len(parts) - 1
        for pattern in patterns:
            if pattern.startswith(b"*"):
                matches = part.endswith(pattern[1:])
            elif pattern.endswith(b"/"):
                matches = directory and part == pattern[:-1]
            else:
                matches = part == pattern
            if matches:
                return True
    return False


def saved_paths(
    taken: Photograph, roots: Iterable[str], patterns: Callable[[bytes], Sequence[bytes]]
) -> set[bytes]:
    """What a backup of these roots saves: all of it, but for what is excluded or cannot be read."""
    saved: set[bytes] = set()
    for root in map(os.fsencode, roots):
        rules = patterns(root)
        for path, node in taken.nodes.items():
            if path == root:
                saved.add(path)
            elif path.startswith(root + b"/"):
                inside = path[len(root) + 1 :]
                if not is_excluded(inside, rules, is_directory=node.kind == "directory"):
                    saved.add(path)
    return saved - taken.unreadable


def patterns_of(
    taken: Photograph, exclude: Iterable[str] = ()
) -> Callable[[bytes], Sequence[bytes]]:
    """The rules of each root: those of the settings, and the lines of its `.scratchignore`."""
    rules = [os.fsencode(pattern) for pattern in exclude]
    return lambda root: [*rules, *filter(None, taken.ignored.get(root, b"").split(b"\n"))]


def may_stay(
    path: bytes, before: Photograph, after: Photograph, exclude: Iterable[str] = ()
) -> bool:
    """Whether a restore may leave a path that the snapshot does not hold."""
    if b".before-" in path or path in before.unreadable | after.unreadable:
        return True
    root, _, inside = path.partition(b"/")
    node = after.nodes[path]
    if node.kind == "mount":
        return True
    rules = [*patterns_of(before, exclude)(root), *patterns_of(after, exclude)(root)]
    if is_excluded(inside, rules, is_directory=node.kind == "directory"):
        return True
    if node.kind != "directory":
        return False
    inner = [other for other in after.nodes if other.startswith(path + b"/")]
    return any(may_stay(one, before, after, exclude) for one in inner)


def beneath(taken: Photograph, roots: Iterable[str]) -> set[bytes]:
    """Every path of these roots."""
    tops = [os.fsencode(root) for root in roots]
    return {
        path for path in taken.nodes if any(path == t or path.startswith(t + b"/") for t in tops)
    }


def equal_in_place(wanted: Node, found: Node | None) -> bool:
    """Whether a path is as wanted; a directory's mtime moves when something in it stays aside."""
    return found is not None and wanted.timeless() == found.timeless()


def wrongly_removed(
    before: Sequence[Manifest], after: set[str], rules: dict[str, int], now: datetime
) -> list[str]:
    """Why snapshots that are gone had to stay, oldest first. `before` holds the new ones too."""
    gone = [one for one in before if one.id not in after]
    result = [
        f"{one.id}: it has a message" for one in gone if one.message and one.purpose == "asked"
    ]
    young = [one for one in gone if now - begun_at(one.id) < timedelta(days=30)]
    result += [f"{one.id}: it is a safety snapshot" for one in young if one.purpose == "safety"]
    wanted = sorted((one.id for one in before if one.purpose in WANTED), reverse=True)
    newest = set(wanted[: rules["keep_last"]])
    result += [f"{one.id}: keep_last" for one in gone if one.id in newest]
    if before and max(one.id for one in before) not in after:
        result.append("the newest is gone")
    for key, length in (("keep_hourly", 13), ("keep_daily", 10)):
        periods = {one.id: taken_at(one).isoformat()[:length] for one in before}
        last = list(dict.fromkeys(periods[one] for one in wanted))[: rules[key]]
        left = {periods[one] for one in after if one in periods}
        result += [f"{key}: nothing of {one} is left" for one in last if one not in left]
    return result
