"""`restore --path … --to DIR`: a part of a snapshot, put beside what the directory holds already.

All of it is built in a hidden directory inside the target first. What is there and equal stays; what an earlier take-home put
there and nobody changed since is brought up to date; what differs is named, and nothing is done.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from filecmp import cmp
from pathlib import Path

import msgspec

from scratchflow.archive.read.selection import Selection
from scratchflow.disk.building import building_beside, sweep_beside
from scratchflow.disk.durable import fsync_directory, is_there, publish_new
from scratchflow.disk.trees import rename_new
from scratchflow.model.errors.restore import TargetDiffers
from scratchflow.model.text import counted, printable
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.source import Source
from scratchflow.node.restore.steps import extract_from
from scratchflow.node.restore.taken_home import TakenHome, digest_of

_NAMED = 3
# A pattern that fits more paths has hardly one place for them that would be worth the look.
_MOST_COMPARED = 10_000


class PutBeside(msgspec.Struct, frozen=True):
    """What was written, and where that which was in the way is now."""

    files: int
    bytes: int
    moved_aside: list[str] = []
    is_news: bool = True
    """Not when everything was there already."""


class Beside(msgspec.Struct, frozen=True):
    """Where to, and how."""

    target: Path
    workspace: str
    """Its name is left out of the paths when nothing else was chosen."""
    token: str
    aside_id: str
    replace: bool = False


def put_beside(
    source: Source, where: Beside, notify: Notifier, select: Selection | None
) -> PutBeside:
    """The chosen part in the target; TargetDiffers, with nothing changed, when files there are others."""
    target = where.target
    target.mkdir(parents=True, exist_ok=True)
    sweep_beside(target)
    with building_beside(target / "part", where.token) as room:
        extract_from(source, room, notify, select, existing="none", masked=True)
        taken = TakenHome.read(target)
        plan = _Plan()
        plan.compare(_without_workspace(room, where.workspace), target, "", taken)
        if plan.differing and not where.replace:
            raise target_differs(target, plan.differing)
        names = list(_regular(plan.top, ""))
        digests = {name: digest_of(plan.top / name) for name in names}
        written = [name for name in names if name not in plan.equal]
        size = sum(os.lstat(plan.top / name).st_size for name in written)
        moved = [_move_aside(target / name, where.aside_id) for name in plan.differing]
        for name in (*plan.new, *plan.differing):
            _place(plan.top / name, target / name)
        for name, found in plan.outdated.items():
            _bring_up_to_date(plan.top / name, target / name, found, where.aside_id, moved)
    taken.with_more(digests).write()
    aside = sorted(printable(path) for path in moved)
    is_news = bool(plan.new or plan.outdated or plan.differing)
    return PutBeside(len(written), size, aside, is_news)


def place_inside(source: Source, select: Selection | None, workspace: str) -> str:
    """The path beneath the target at which all of it is then, for reading; empty for the target itself.

    A part keeps its path from the workspace down; a whole snapshot also has the workspace's name.
    """
    if select is None:
        return printable(source.roots[0]) if len(source.roots) == 1 else ""
    if len(select.matched) > _MOST_COMPARED:
        return ""
    paths = [os.fsdecode(source.index.path(entry)) for entry in select.matched]
    place = os.path.commonpath(paths)
    if all(f"{path}/".startswith(f"{workspace}/") for path in paths):
        place = place[len(workspace) + 1 :]
    return printable(place)


def _without_workspace(room: Path, workspace: str) -> Path:
    """Where the workspace's own paths begin, if nothing but those was chosen; else the whole."""
    top = room
    for part in workspace.split("/"):
        if os.listdir(top) != [part] or not stat.S_ISDIR(os.lstat(top / part).st_mode):
            return room
        top /= part
    return top


class _Plan:
    """What to do with each path: names are relative to the target."""

    def __init__(self) -> None:
        self.top = Path()
        self.new: list[str] = []
        self.equal: set[str] = set()
        self.outdated: dict[str, os.stat_result] = {}
        self.differing: list[str] = []

    def compare(self, top: Path, target: Path, inside: str, taken: TakenHome) -> None:
        if not inside:
            self.top = top
        for name in sorted(os.listdir(top / inside)):
            path = os.path.join(inside, name)
            try:
                found = os.lstat(target / path)
            except FileNotFoundError:
                self.new.append(path)
                continue
            coming = os.lstat(top / path)
            if stat.S_ISDIR(coming.st_mode) and stat.S_ISDIR(found.st_mode):
                os.chmod(top / path, 0o700)  # its files are moved out of it
                self.compare(top, target, path, taken)
            elif _is_same(top / path, coming, target / path, found):
                self.equal.add(path)
            elif stat.S_ISREG(found.st_mode) and taken.is_unchanged(path):
                self.outdated[path] = found
            else:
                self.differing.append(path)


def _is_same(
    coming: Path, coming_stat: os.stat_result, there: Path, there_stat: os.stat_result
) -> bool:
    if stat.S_IFMT(coming_stat.st_mode) != stat.S_IFMT(there_stat.st_mode):
        return False
    if stat.S_ISLNK(coming_stat.st_mode):
        return os.readlink(coming) == os.readlink(there)
    if not stat.S_ISREG(coming_stat.st_mode) or coming_stat.st_size != there_stat.st_size:
        return False
    try:
        return cmp(coming, there, shallow=False)
    except PermissionError:
        return False


def _regular(top: Path, inside: str) -> Iterator[str]:
    """The name of every regular file beneath, from the top down."""
    for name in sorted(os.listdir(top / inside)):
        path = os.path.join(inside, name)
        mode = os.lstat(top / path).st_mode
        if stat.S_ISDIR(mode):
            yield from _regular(top, path)
        elif stat.S_ISREG(mode):
            yield path


def _place(coming: Path, there: Path) -> None:
    """Gives it its name, which must be free."""
    if stat.S_ISDIR(os.lstat(coming).st_mode):
        rename_new(coming, there)
        return
    publish_new(coming, there)
    fsync_directory(there.parent)


def _bring_up_to_date(
    coming: Path, there: Path, looked: os.stat_result, aside_id: str, moved: list[Path]
) -> None:
    """Replaces a file that nobody changed since it came from a snapshot; if somebody has by now, it is kept."""
    found = os.lstat(there)
    if _stamp(found) != _stamp(looked):
        moved.append(_move_aside(there, aside_id))
        _place(coming, there)
        return
    os.replace(coming, there)
    fsync_directory(there.parent)


def _stamp(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _move_aside(path: Path, aside_id: str) -> Path:
    number = 1
    aside = path.with_name(f"{path.name}.before-{aside_id}")
    while is_there(aside):
        number += 1
        aside = path.with_name(f"{path.name}.before-{aside_id}-{number}")
    os.rename(path, aside)
    return aside


def target_differs(target: Path, names: list[str]) -> TargetDiffers:
    """The refusal that names what is in the way."""
    shown = ", ".join(f"`{printable(name)}`" for name in names[:_NAMED])
    more = ", …" if len(names) > _NAMED else ""
    return TargetDiffers(target=target, count=counted(len(names), "path"), paths=f"{shown}{more}")
