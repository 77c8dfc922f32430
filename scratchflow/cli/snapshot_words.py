"""Snapshots in words: what people read of a list, of one of them, of a difference, of a check, and of what was removed or marked."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator

import msgspec

from scratchflow.cli.naming import bracketed, stays_in_words
from scratchflow.cli.tables import GAP, aligned, fitted, wrapped
from scratchflow.model.ages import (
    COUNTED_DAYS_S,
    age_at,
    at,
    for_people,
    named,
    short_ids,
    shown_id,
    wall_date,
    wall_time,
)
from scratchflow.model.results.snapshots import (
    NOT_ASKED_FOR,
    WORKSPACE,
    DirectoryChange,
    FileVersion,
    PathChange,
    PathEntry,
    PathHistory,
    SnapshotRow,
    SnapshotsDiffed,
    SnapshotShown,
    SnapshotsListed,
    SnapshotsMarked,
    SnapshotsPruned,
    SnapshotsVerified,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import cells, counted, printable, shown_path
from scratchflow.model.times import epoch
from scratchflow.model.units import format_size
from scratchflow.model.wrap import Whole, broken
from scratchflow.model.zone import utc_text
from scratchflow.report.output import terminal_width

# Of a snapshot that reads from a damaged archive.
MAY_BE = "may be damaged"


def listed(listed: SnapshotsListed) -> Iterator[str]:
    """For people: short ids and ages, newest last, no wider than the terminal."""
    if not listed.snapshots:
        yield "no snapshots yet; `scratchflow backup` takes one"
        return
    now_s = epoch(listed.now) or time.time()
    names, width = short_ids(one.id for one in listed.snapshots), terminal_width()
    rows = [
        [
            names[one.id],
            *_when(epoch(one.time) or 0, now_s),
            one.kind,
            counted(one.files, "file"),
        ]
        for one in listed.snapshots
    ]
    for one, fixed in zip(listed.snapshots, aligned(rows, right={1, 2, 4}), strict=True):
        remarks = _remarks(one, _other_reasons(one))
        yield fitted(fixed, message_in_words(one), remarks, width, is_named=one.named)
    yield from _below(listed)


def as_listed(rows: Iterable[SnapshotRow]) -> list[SnapshotRow]:
    """The rows with what the list prints of them, for programs that show it."""
    return [
        msgspec.structs.replace(
            one, shown_message=for_people(one.message), marks=_marks(one, _other_reasons(one))
        )
        for one in rows
    ]


def _below(listed: SnapshotsListed) -> Iterator[str]:
    """How much room they take, and what their marks mean."""
    if listed.store_bytes:
        count = counted(len(listed.snapshots), "snapshot")
        yield f"{count}, {format_size(listed.store_bytes)} in the store"
    if any(one.damaged for one in listed.snapshots):
        yield "DAMAGED: not all of it can be restored; `scratchflow snapshots show ID` says what was found"
    if any(one.perhaps_damaged for one in listed.snapshots):
        yield f"{MAY_BE}: `scratchflow snapshots verify` says which of these can be restored as a whole"
    if any(one.fork or "fork" in one.stays for one in listed.snapshots):
        yield "[fork]: work that went another way; `latest` never means it, `scratchflow restore ID` brings it"


def _other_reasons(one: SnapshotRow) -> list[str]:
    """Why it stays, without what its columns say: that it is full, and what its message tells."""
    in_columns = {"full", "safety"} if one.message else {"full"}
    return [reason for reason in one.stays if reason not in in_columns]


def _when(taken_s: float, now_s: float) -> tuple[str, str]:
    """By the clock, so that it can be typed, and how long ago; of a day that is long past the date is enough."""
    if taken_s <= now_s - COUNTED_DAYS_S:
        return wall_date(taken_s), ""
    clock, ago = wall_time(taken_s, now_s), age_at(taken_s, now_s)
    return clock, ago if ago != clock else ""


def listed_in_full(listed: SnapshotsListed) -> Iterator[str]:
    """With `-v`: whole ids, UTC, sizes, nodes, names that are not shortened; on two lines if need be."""
    width = terminal_width()
    rows = [
        [
            one.id,
            utc_text(epoch(one.time) or 0),
            one.kind,
            counted(one.files, "file"),
            format_size(one.bytes),
        ]
        for one in listed.snapshots
    ]
    columns = list(aligned(rows, right={3, 4}))
    sizes = [""] * len(rows)
    if width is not None and any(cells(line) > width for line in columns):
        columns = list(aligned([row[:-1] for row in rows], right={3}))
        sizes = [row[-1] for row in rows]
    for one, fixed, size in zip(listed.snapshots, columns, sizes, strict=True):
        details = GAP.join(filter(None, [size, *_details(one)]))
        line = f"{fixed}{GAP}{details}"
        if width is None or cells(line) <= width:
            yield line
        else:
            yield fixed
            yield from broken(f"    {details}", width, "    ")
    yield from _below(listed)


def _details(one: SnapshotRow) -> list[str]:
    """What follows its columns."""
    details = [
        f"{format_size(one.stored_bytes)} stored",
        printable(one.node),
        message_in_words(one),
        _remarks(one, one.stays),
        f"fork of {one.parent}" if one.fork and one.parent else "",
        printable(one.damaged or one.perhaps_damaged or ""),
    ]
    return [one for one in details if one]


def message_in_words(one: SnapshotRow) -> str:
    """What a person wrote in quotes, what scratchflow wrote without: only the former keeps a snapshot."""
    message = for_people(printable(one.message))
    return f'"{message}"' if one.named else message


def _remarks(one: SnapshotRow, stays: list[str]) -> str:
    """What is not as usual."""
    condition = in_doubt(one) or ("" if one.verified else "not verified")
    return GAP.join(filter(None, [condition, bracketed(_marks(one, stays))]))


def in_doubt(one: SnapshotRow) -> str:
    """In one word whether it is damaged, or may be; empty for one of which nothing is known to be wrong."""
    return "DAMAGED" if one.damaged else MAY_BE if one.perhaps_damaged else ""


def _marks(one: SnapshotRow, stays: list[str]) -> list[str]:
    """Why it stays, and whether it is a fork; that a name keeps it shows in its having one."""
    reasons = dict.fromkeys(reason for reason in stays if reason != "named")
    if one.fork:
        reasons["fork"] = None
    return stays_in_words(reasons)


def _condition(shown: SnapshotShown) -> str:
    if shown.damaged:
        return f"DAMAGED: {shown.damaged}"
    if shown.perhaps_damaged:
        verify = f"`scratchflow snapshots verify {shown.manifest.id}` says whether"
        return f"{MAY_BE}: {shown.perhaps_damaged}; {verify}"
    return "verified" if shown.manifest.verified else "not verified"


def listed_inside(shown: SnapshotShown) -> Iterator[str]:
    """What lies at a path of a snapshot, one line each."""
    yield from map(_entry_line, shown.entries)


def shown(shown: SnapshotShown) -> Iterator[str]:
    """One snapshot, a line for each of its properties."""
    one = shown.manifest
    rows = {
        "snapshot": one.id,
        "taken": _taken(one),
        "kind": one.kind,
        "parent": one.parent or "-",
        "needs": ", ".join(one.needs) or "-",
        "files": f"{counted(one.files, 'file')}, {_directories(one.dirs)}, {counted(one.links, 'link')}",
        "size": f"{format_size(one.bytes)}, {format_size(one.archive_bytes)} stored here",
        "workspace": " ".join([one.workspace, *one.also]),
        "by": f"scratchflow {one.tool_version} on {one.node}, job {one.job_id or '-'}",
        "digest": one.archive_digest,
        "state": _condition(shown),
        **({"fork": "taken beside the newest one: it is never `latest`"} if one.beside else {}),
        "warnings": str(one.warnings),
        "message": one.message or "-",
    }
    for name, value in rows.items():
        yield from wrapped(f"{name:<10} ", printable(value), terminal_width())


def _directories(count: int) -> str:
    return "1 directory" if count == 1 else f"{count:,} directories"


def _taken(one: Manifest) -> str:
    """`15 Nov 17:40, 14 h ago (2026-11-15 16:40:00 UTC)`."""
    taken_s, now_s = epoch(one.time) or 0, time.time()
    words = dict.fromkeys([wall_time(taken_s, now_s), age_at(taken_s, now_s)])
    return f"{', '.join(words)} ({utc_text(taken_s)})"


def _entry_line(entry: PathEntry) -> str:
    mark = {"directory": "d", "link": "l", "file": "-"}[entry.kind]
    target = f" -> {entry.target}" if entry.target is not None else ""
    path = shown_path(entry.path, entry.path_b64)
    return Whole(
        f"{mark}{entry.mode} {format_size(entry.size):>9} {_changed(entry):>17} {path}{target}"
    )


def _changed(entry: PathEntry) -> str:
    """When a file was changed last, by the clock on the wall."""
    return at(entry.mtime) or ""


def versions(history: PathHistory) -> Iterator[str]:
    """One line a version, oldest first, then how to go on."""
    now_s, width = epoch(history.now) or time.time(), terminal_width()
    names = short_ids(one.snapshot for one in history.versions)
    rows = [
        [
            names[one.snapshot],
            *_when(epoch(one.time) or 0, now_s),
            format_size(one.size) if one.size is not None else "",
            one.mode or "",
        ]
        for one in history.versions
    ]
    for one, fixed in zip(history.versions, aligned(rows, right={1, 2, 3}), strict=True):
        yield fitted(fixed, "", _what_changed(one), width)
    path = shown_path(history.path, history.path_b64)
    count = sum(one.change != "deleted" for one in history.versions)
    yield Whole(
        f"{counted(count, 'version')} of `{path}` in {counted(history.checked, 'snapshot')}"
    )


def _what_changed(one: FileVersion) -> str:
    words = [
        "" if one.change == "changed" else one.change,
        f"{one.mode_before} before" if one.mode_before else "",
        f"link to {one.target}" if one.target is not None else "",
        "directory" if one.kind == "directory" else "",
        "[fork]" if one.fork else "",
    ]
    return ", ".join(filter(None, words))


def diffed(diffed: SnapshotsDiffed) -> Iterator[str]:
    """Every path that differs, a directory that is all new or gone in one line; then how many."""
    whole = {_path_of(one): one for one in diffed.directories}
    for change in diffed.paths:
        path = _path_of(change)
        if path in whole:
            yield _directory_line(whole[path], diffed.roots)
        elif not _is_inside(path, whole):
            yield _change_line(change, diffed.roots)
    yield from _counted(diffed)
    if whole:
        yield "the same with `-v` lists what is in these directories"


def _is_inside(path: str, directories: Container[str]) -> bool:
    above = path.rpartition("/")[0]
    while above and above not in directories:
        above = above.rpartition("/")[0]
    return bool(above)


def diffed_in_full(diffed: SnapshotsDiffed) -> Iterator[str]:
    """With `-v`: every path that differs, then how many."""
    for change in diffed.paths:
        yield _change_line(change, diffed.roots)
    yield from _counted(diffed)


def _counted(diffed: SnapshotsDiffed) -> Iterator[str]:
    since = f"since snapshot {named(diffed.older)}"
    if diffed.newer != WORKSPACE:
        since = f"from snapshot {named(diffed.older)} to {named(diffed.newer)}"
    counts = f"{diffed.added:,} added, {diffed.changed:,} changed, {diffed.removed:,} removed"
    yield f"{counts if diffed.paths else 'nothing differs'} {since}"


def _change_line(change: PathChange, roots: list[str]) -> str:
    mark = {"added": "+", "removed": "-", "changed": "M"}[change.action]
    return Whole(f"{mark} {_as_typed(_path_of(change), roots)}")


def _directory_line(one: DirectoryChange, roots: list[str]) -> str:
    mark = "+" if one.action == "added" else "-"
    held = f"{counted(one.files, 'file')}, {format_size(one.bytes)}"
    return Whole(f"{mark} {_as_typed(_path_of(one), roots)}/{GAP}{held}")


def _path_of(change: PathChange | DirectoryChange) -> str:
    return shown_path(change.path, change.path_b64)


def _as_typed(path: str, roots: list[str]) -> str:
    """As `restore --path` takes it: from the workspace down, unless that would mean another root."""
    inside = path.removeprefix(f"{roots[0]}/") if roots else path
    return path if inside.split("/")[0] in roots else inside


def verified(verified: SnapshotsVerified) -> Iterator[str]:
    """The damaged ones, those that could not be checked, then how many were."""
    for one in verified.bad:
        yield f"✗ {named(one.id)}: {printable(one.reason)}"
    unchecked = [*verified.newer, *verified.closed]
    for one in unchecked:
        yield f"- {named(one.id)}: not checked: {printable(one.reason)}"
    if not verified.checked and not verified.bad and not unchecked:
        yield "the store has no snapshot: nothing was checked"
        return
    rest = f", {len(unchecked):,} not checked" if unchecked else ""
    yield f"{verified.checked:,} checked, {len(verified.bad):,} damaged{rest}"


def pruned(pruned: SnapshotsPruned) -> Iterator[str]:
    """What went, what stays and why."""
    if pruned.blocked:
        yield f"nothing removed: {printable(pruned.blocked)}"
        return
    word = "would remove" if pruned.dry_run else "removed"
    for snapshot in pruned.removed:
        yield f"{word} {named(snapshot)}"
    for snapshot, reasons in pruned.kept.items():
        if reasons != [NOT_ASKED_FOR]:
            yield f"kept {named(snapshot)}: {', '.join(stays_in_words(reasons))}"
    yield f"{word} {len(pruned.removed)}, {format_size(pruned.freed_bytes)}"
    if pruned.next_is_full:
        yield next_is_full_in_words(pruned)
    is_by_rules = [NOT_ASKED_FOR] not in pruned.kept.values()
    if pruned.kept and not pruned.removed and is_by_rules:
        yield _all_kept(pruned)


def next_is_full_in_words(pruned: SnapshotsPruned) -> str:
    """That the next backup will take longer, and more room, than what was removed may have freed."""
    word = "would then be" if pruned.dry_run else "is"
    return f"The next backup {word} a full one: it stores every file anew."


def _all_kept(pruned: SnapshotsPruned) -> str:
    if len(pruned.kept) == 1:
        return "it is the only snapshot, which always stays: no `prune` frees room in this store"
    how = "every snapshot is kept by a rule; `scratchflow snapshots prune ID` removes one all the same"
    if any("kept" in reasons for reasons in pruned.kept.values()):
        how += ", a marked one after `scratchflow snapshots unkeep ID`"
    if pruned.spare is None:
        return how
    most = f"{named(pruned.spare)} would free the most, about {format_size(pruned.spare_bytes)}"
    return f"{how}; {most} (the newest one, and those named or marked, left aside)"


def marked(marked: SnapshotsMarked) -> Iterator[str]:
    """What `keep` and `unkeep` changed."""
    done, was = ("keep", "is kept already") if marked.kept else ("unkeep", "was not marked")
    for snapshot in marked.snapshots:
        name = named(snapshot)
        if snapshot not in marked.changed:
            yield f"{name} {was}"
        elif marked.dry_run:
            yield f"would {done} {name}"
        elif marked.kept:
            unkeep_it = f"`scratchflow snapshots unkeep {shown_id(snapshot)}`"
            yield f"{name} stays until you run {unkeep_it}"
        else:
            yield f"{name} is no longer marked: the rules decide how long it stays"
