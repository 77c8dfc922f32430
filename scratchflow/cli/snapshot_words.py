"""Snapshots in words: what people read of a list, of one of them, of a difference, and of what was done."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from scratchflow.cli.naming import stays_in_words
from scratchflow.cli.remote_call import on_host
from scratchflow.cli.tables import GAP, aligned, fitted
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
    FileVersion,
    PathChange,
    PathEntry,
    PathHistory,
    SnapshotRow,
    SnapshotsDiffed,
    SnapshotsFetched,
    SnapshotShown,
    SnapshotsListed,
    SnapshotsMarked,
    SnapshotsPruned,
    SnapshotsVerified,
)
from scratchflow.model.results.transfer import (
    SnapshotExported,
    SnapshotImported,
    SnapshotsCopied,
    SnapshotsMirrored,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import cells, counted, printable, shown_path
from scratchflow.model.times import epoch
from scratchflow.model.units import format_size, format_took
from scratchflow.model.wrap import Whole, broken
from scratchflow.model.zone import utc_text
from scratchflow.report.output import terminal_width


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
        yield fitted(fixed, _quoted(one.message), _remarks(one, _other_reasons(one)), width)
    yield from _what_a_fork_is(listed)


def _what_a_fork_is(listed: SnapshotsListed) -> Iterator[str]:
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
    yield from _what_a_fork_is(listed)


def _details(one: SnapshotRow) -> list[str]:
    """What follows its columns."""
    details = [
        f"{format_size(one.stored_bytes)} stored",
        printable(one.node),
        _quoted(one.message),
        _remarks(one, one.stays),
        f"fork of {one.parent}" if one.fork else "",
        printable(one.damaged) if one.damaged else "",
    ]
    return [one for one in details if one]


def _quoted(message: str) -> str:
    return f'"{for_people(printable(message))}"' if message else ""


def _remarks(one: SnapshotRow, stays: list[str]) -> str:
    """What is not as usual; that a name keeps a snapshot shows in its having one."""
    reasons = dict.fromkeys(reason for reason in stays if reason != "named")
    if one.fork:
        reasons["fork"] = None
    condition = "DAMAGED" if one.damaged else "" if one.verified else "not verified"
    return GAP.join(filter(None, [condition, stays_in_words(reasons)]))


def _condition(damaged: str | None, verified: bool) -> str:
    if damaged:
        return f"DAMAGED: {damaged}"
    return "" if verified else "not verified"


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
        "sha256": one.archive_sha256,
        "state": _condition(shown.damaged, one.verified) or "verified",
        **({"fork": "taken beside the newest one: it is never `latest`"} if one.beside else {}),
        "warnings": str(one.warnings),
        "message": one.message or "-",
    }
    for name, value in rows.items():
        yield f"{name:<10} {printable(value)}"


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
    """Every path that differs, then how many."""
    for change in diffed.paths:
        yield _change_line(change, diffed.roots)
    since = f"since snapshot {named(diffed.older)}"
    if diffed.newer != WORKSPACE:
        since = f"from snapshot {named(diffed.older)} to {named(diffed.newer)}"
    counts = f"{diffed.added:,} added, {diffed.changed:,} changed, {diffed.removed:,} removed"
    yield f"{counts if diffed.paths else 'nothing differs'} {since}"


def _change_line(change: PathChange, roots: list[str]) -> str:
    mark = {"added": "+", "removed": "-", "changed": "M"}[change.action]
    path = shown_path(change.path, change.path_b64)
    return Whole(f"{mark} {_as_typed(path, roots)}")


def _as_typed(path: str, roots: list[str]) -> str:
    """As `restore --path` takes it: from the workspace down, unless that would mean another root."""
    inside = path.removeprefix(f"{roots[0]}/") if roots else path
    return path if inside.split("/")[0] in roots else inside


def verified(verified: SnapshotsVerified) -> Iterator[str]:
    """The damaged ones, then how many were checked."""
    for one in verified.bad:
        yield f"✗ {named(one.id)}: {printable(one.reason)}"
    if not verified.checked and not verified.bad:
        yield "the store has no snapshot: nothing was checked"
        return
    yield f"{verified.checked:,} checked, {len(verified.bad):,} damaged"


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
            yield f"kept {named(snapshot)}: {', '.join(reasons)}"
    yield f"{word} {len(pruned.removed)}, {format_size(pruned.freed_bytes)}"
    is_by_rules = [NOT_ASKED_FOR] not in pruned.kept.values()
    if pruned.kept and not pruned.removed and is_by_rules:
        yield _all_kept(pruned)


def _all_kept(pruned: SnapshotsPruned) -> str:
    how = "every snapshot is kept by a rule; `scratchflow snapshots prune ID` removes one all the same"
    if pruned.spare is None:
        return how
    return f"{how}: the one that frees the most, {named(pruned.spare)}, would free about {format_size(pruned.spare_bytes)}"


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


def exported(exported: SnapshotExported) -> Iterator[str]:
    """Where the file is."""
    word = "would write" if exported.dry_run else "wrote"
    path = f"`{printable(exported.path)}`{on_host(exported.host)}"
    yield f"{word} {path} ({format_size(exported.bytes)}) from snapshot {named(exported.snapshot)}"


def copied(done: SnapshotsCopied) -> Iterator[str]:
    """What went over, and what is the newest there now."""
    to = f"profile `{printable(done.to)}`"
    yield from _not_copied(done, to)
    is_left_out = done.damaged or done.blocked or done.in_the_way or done.not_whole
    if not done.copied and is_left_out and not done.already_there:
        return
    if not done.copied:
        yield f"{to} has {'it' if len(done.already_there) == 1 else 'all of them'} already"
        return
    what = counted(len(done.copied), "snapshot")
    size = format_size(done.sent_bytes)
    if done.dry_run:
        full = (
            f", and up to {format_size(done.as_full_bytes)} as full archives"
            if done.as_full_bytes
            else ""
        )
        yield f"would copy {what} ({size}{full}) to {to}"
        return
    yield f"copied {what} to {to}: {size} sent in {format_took(done.duration_s)}, and compared there with its SHA-256"
    for one in done.along:
        yield f"with the full snapshot {named(one)}, which {'it is' if len(done.copied) == 1 else 'they are'} built on"
    if done.as_full_bytes:
        yield (
            f"some went as one full archive, because {to} has another archive that they need;"
            " after `scratchflow backup --full` later copies send only what changed"
        )
    if done.relies_on:
        verify = f"`scratchflow -p {printable(done.to)} snapshots verify`"
        were = (
            "1 archive that was" if done.relies_on == 1 else f"{done.relies_on} archives that were"
        )
        yield f"{'it needs' if len(done.copied) == 1 else 'they need'} {were} there already; {verify} reads them"
    yield from _mended(done.mended, "there")
    if done.newest in done.copied:
        yield f"the newest there is {named(done.newest)} now"


def _not_copied(done: SnapshotsCopied, to: str) -> Iterator[str]:
    """What is not there, why, and what to do."""
    for one in done.damaged:
        yield f"not copied, because it is damaged: snapshot {named(one)}"
    for one in done.blocked:
        yield (
            f"not copied: {to} has another archive under the name of snapshot {named(one)}, or a damaged one;"
            " `scratchflow snapshots export`, and `import` there, bring it under another name"
        )
    for one, what in done.in_the_way.items():
        yield f"not copied: snapshot {named(one)}; in the store of {to}, {printable(what)}: look what it is, move it away there, and copy again"
    for one in done.not_whole:
        verify = f"`scratchflow -p {printable(done.to)} snapshots verify {shown_id(one)}`"
        yield f"{to} does not list snapshot {named(one)} as whole after the copy; {verify} reads it there"


def _mended(snapshots: Iterable[str], where: str) -> Iterator[str]:
    for one in snapshots:
        yield f"whole again: snapshot {named(one)}, which was damaged {where}"


def mirrored(done: SnapshotsMirrored) -> Iterator[str]:
    """What went to the mirror."""
    mirror = f"`{printable(done.mirror)}`"
    for one in done.damaged:
        if one in done.sent_before:
            again = f"`scratchflow snapshots import --from-mirror {shown_id(one)}` mends it if the mirror's is whole"
            yield f"damaged in the store, and sent before: snapshot {named(one)}; {again}"
        else:
            yield f"not sent, because it is damaged: snapshot {named(one)}"
    yield from _blocked(done)
    if not done.sent:
        if done.there:
            yield f"{mirror} has {_already(done)} already"
        elif not done.damaged and not done.blocked:
            yield "the store has no snapshot: nothing was sent"
        return
    what, size = counted(len(done.sent), "snapshot"), format_size(done.sent_bytes)
    if done.dry_run:
        yield f"would send {what} ({size}) to {mirror}"
        return
    yield f"sent {what} to {mirror}: {size} in {format_took(done.duration_s)}"


def _already(done: SnapshotsMirrored) -> str:
    count = counted(done.there, "snapshot")
    if done.damaged or done.blocked:
        return "the other snapshot" if done.there == 1 else f"the other {count}"
    return f"{'the' if done.there == 1 else 'all'} {count}"


def _blocked(done: SnapshotsMirrored) -> Iterator[str]:
    """Which snapshots are not on the mirror because of an archive there, and what to do."""
    mirror = f"`{printable(done.mirror)}`"
    for one in done.blocked:
        why = (
            "under the name of a file that it needs, something else lies there"
            if done.wrong
            else f"{mirror} has another archive under the name of one that it needs, for other snapshots"
        )
        yield f"not on the mirror: snapshot {named(one)}; {why}"
    for file in done.wrong:
        step, words = _out_of_the_way(done.mirror, file)
        yield f"{step}, where the store is: `{printable(words)}`"
    if done.wrong:
        yield "then `scratchflow snapshots mirror` sends them again"
    elif done.blocked:
        yield "another path as `backup.mirror` takes all"


def _out_of_the_way(mirror: str, file: str) -> tuple[str, str]:
    """What is to be done with it on the mirror, and by which command."""
    import secrets
    import shlex  # both seldom needed

    if file.endswith("/"):
        # Over sftp a link to a directory looks like one, and what it leads to is not ours to delete.
        name = file.rstrip("/")
        return "move the wrong directory aside", shlex.join(
            # A name that nothing has: into one that is there, rclone would merge it.
            ["rclone", "moveto", name, f"{name}.aside-{secrets.token_hex(4)}"]
        )
    if file.endswith(".rclonelink"):
        # Versions differ in which of the two names they compare.
        name = file.removeprefix(mirror).lstrip("/").removesuffix(".rclonelink")
        words = ["rclone", "delete", "--links", mirror, "--include", f"/{name}{{,.rclonelink}}"]
        return "delete the wrong link", shlex.join(words)
    return "delete the wrong file", f"rclone deletefile {shlex.quote(file)}"


def fetched(done: SnapshotsFetched) -> Iterator[str]:
    """What came from the mirror, and what is the newest now."""
    mirror = f"`{printable(done.mirror)}`"
    for one, reason in done.unreadable.items():
        yield f"not brought: snapshot {named(one)} on {mirror}: {printable(reason)}"
    for one in done.damaged:
        yield f"not brought, because an archive that it needs is damaged or missing on {mirror}: snapshot {named(one)}"
    for one in done.blocked:
        yield (
            f"not brought: the store still holds a part of what snapshot {named(one)} needs, or another archive, under the same"
            " name; a profile with another `store` takes it"
        )
    for one, what in done.in_the_way.items():
        yield f"not brought: snapshot {named(one)}; {printable(what)}: look what it is, move it away, and run this again"
    if not done.fetched:
        if done.snapshots and not (done.blocked or done.damaged or done.in_the_way):
            yield f"the store has {'it' if len(done.snapshots) == 1 else 'all of them'} already"
        return
    what, size = counted(len(done.fetched), "snapshot"), format_size(done.fetched_bytes)
    if done.dry_run:
        yield f"would bring {what} ({size}) from {mirror}"
        return
    took = format_took(done.duration_s)
    yield f"brought {what} from {mirror}: {size} in {took}, every byte compared"
    yield from _mended(done.mended, "in the store")
    if done.newest in done.fetched:
        yield f"the newest is {named(done.newest)} now"


def imported(imported: SnapshotImported) -> Iterator[str]:
    """The new snapshot, and that it is the newest now."""
    size = f"{counted(imported.files, 'file')}, {format_size(imported.bytes)}"
    if imported.dry_run:
        yield f"would take in `{printable(imported.source)}`"
    else:
        yield f"snapshot {shown_id(imported.snapshot or '')}: {size} from `{printable(imported.source)}`"
    if imported.previous:
        yield _latest_now(imported)


def _latest_now(imported: SnapshotImported) -> str:
    it_is = "it would be `latest`" if imported.dry_run else "it is `latest` now"
    before = (
        f"`scratchflow restore {shown_id(imported.previous or '')}` goes back to the one before"
    )
    return f"{it_is}, so a plain `restore`, and `up` on another node, bring it; {before}"
