"""`scratchflow snapshots`: look at, check and move snapshots."""

import time
from collections.abc import Callable, Iterator
from typing import Annotated

import msgspec
import typer

from scratchflow.cli.call import Call
from scratchflow.cli.naming import NAMED, SNAPSHOT, SNAPSHOTS, stays_in_words, zone_for
from scratchflow.cli.options import DRY_RUN, VerbCommand, VerbGroup, caller, is_verbose, may_ask
from scratchflow.cli.remote_call import at_workspace, on_host
from scratchflow.cli.removal import confirm_removal
from scratchflow.cli.tables import GAP, aligned, fitted
from scratchflow.model import requests
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
from scratchflow.model.errors import UsageInvalid
from scratchflow.model.events import Emit, Event, Log
from scratchflow.model.results import (
    NOT_ASKED_FOR,
    WORKSPACE,
    PathChange,
    PathEntry,
    SnapshotExported,
    SnapshotImported,
    SnapshotRow,
    SnapshotsDiffed,
    SnapshotShown,
    SnapshotsListed,
    SnapshotsMarked,
    SnapshotsPruned,
    SnapshotsVerified,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.model.source import on_laptop
from scratchflow.model.text import cells, counted, printable, shown_path
from scratchflow.model.times import epoch
from scratchflow.model.units import format_size
from scratchflow.model.wrap import Whole, broken
from scratchflow.model.zone import utc_text
from scratchflow.report.output import terminal_width

app = typer.Typer(
    cls=VerbGroup,
    rich_markup_mode=None,
    add_completion=False,
    help="Look at, check and move snapshots. HOW-TO-RESTORE.txt beside them helps without scratchflow.",
)


@app.command("list", cls=VerbCommand)
def list_snapshots(context: typer.Context) -> Call[SnapshotsListed]:
    """List the snapshots, newest last; `-v` adds whole ids, UTC, sizes and nodes."""
    say = _listed_in_full if is_verbose(context) else _listed
    return at_workspace(context, "snapshots list", requests.Nothing(), say)


@app.command("show", cls=VerbCommand)
def show(
    context: typer.Context,
    snapshot: Annotated[str, SNAPSHOT] = "latest",
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="[PATH]",
            help="List what lies there, like `src`; `.` is the workspace.",
            show_default=False,
        ),
    ] = None,
) -> Call[SnapshotShown]:
    """Show one snapshot, and what lies at a path inside it."""
    request = requests.Show(snapshot=snapshot, path=path, zone=zone_for(snapshot))
    say = _shown if path is None else _listed_inside
    return at_workspace(context, "snapshots show", request, say)


@app.command("diff", cls=VerbCommand)
def diff(
    context: typer.Context,
    older: Annotated[
        str | None,
        typer.Argument(
            metavar="[OLDER]",
            help=f"Compare with this snapshot instead of the last one: {NAMED}",
            show_default=False,
        ),
    ] = None,
    newer: Annotated[
        str | None,
        typer.Argument(
            metavar="[NEWER]",
            help="Compare that with this snapshot instead of the workspace.",
            show_default=False,
        ),
    ] = None,
) -> Call[SnapshotsDiffed]:
    """Say which paths of the workspace differ from its last snapshot, or from another one.

    With two snapshots, compares those; that needs no node.
    """
    op = "snapshots diff"
    if older is not None and newer is not None:
        between = requests.Diff(older=older, newer=newer, zone=zone_for(older, newer))
        return at_workspace(context, op, between, _diffed)
    zone = zone_for(older) if older is not None else ()
    live = requests.DiffWorkspace(older=older, zone=zone)
    return at_workspace(context, op, live, _diffed, do="snapshots diff workspace")


@app.command("verify", cls=VerbCommand)
def verify(
    context: typer.Context,
    snapshots: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SNAPSHOT]...", help="These only.", show_default=False),
    ] = None,
) -> Call[SnapshotsVerified]:
    """Read snapshots back from the store, every byte; exit 31 when one is damaged."""
    request = requests.Verify(snapshots=tuple(snapshots or ()), zone=zone_for(*(snapshots or ())))
    return at_workspace(context, "snapshots verify", request, _verified)


@app.command("prune", cls=VerbCommand)
def prune(
    context: typer.Context,
    snapshots: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SNAPSHOT]...",
            help="Remove these, whatever the rules say.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove named snapshots without asking.")
    ] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[SnapshotsPruned]:
    """Remove the snapshots that no rule keeps, or the named ones.

    The rules are the profile's `keep_*`. Snapshots with a message, those marked by `snapshots keep`,
    for `keep_jobs` those that a submitted job ran from, and for `keep_unmerged` those taken before a
    restore and the tips of forks stay as well. A snapshot that is named here is removed all the same,
    unless a job ran from it, after a question that shows what goes; without a terminal only with `--yes`.
    """
    call = _prune_call(context, snapshots or [], dry_run=dry_run)
    if not snapshots or dry_run or yes:
        return call
    return Call(call.op, _confirmed(context, snapshots), call.show)


def _confirmed(context: typer.Context, snapshots: list[str]) -> Callable[[Emit], SnapshotsPruned]:
    """Removes what was shown and agreed to: `latest` may be another one after the question."""

    def run(tell: Emit) -> SnapshotsPruned:
        emit = _each_remark_once(tell)
        planned = _prune_call(context, snapshots, dry_run=True).flow(emit)
        if planned.blocked:
            return msgspec.structs.replace(planned, dry_run=False)
        listing: Call[SnapshotsListed] = at_workspace(
            context, "snapshots list", requests.Nothing(), _listed
        )
        rows = [one for one in listing.flow(emit).snapshots if one.id in planned.removed]
        confirm_removal(rows, emit, may_ask=may_ask(context))
        return _prune_call(context, [one.id for one in rows]).flow(emit)

    return run


def _each_remark_once(emit: Emit) -> Emit:
    """For several calls that make up one command: each of them would say the same about its start."""
    said: set[str] = set()

    def tell(event: Event) -> None:
        if isinstance(event, Log):
            if event.message in said:
                return
            said.add(event.message)
        emit(event)

    return tell


def _prune_call(
    context: typer.Context, snapshots: list[str], *, dry_run: bool = False
) -> Call[SnapshotsPruned]:
    request = requests.Prune(snapshots=tuple(snapshots), dry_run=dry_run, zone=zone_for(*snapshots))
    return at_workspace(context, "snapshots prune", request, _pruned)


@app.command("keep", cls=VerbCommand)
def keep(
    context: typer.Context,
    snapshots: Annotated[list[str], SNAPSHOTS],
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[SnapshotsMarked]:
    """Mark snapshots, so that they stay until `snapshots unkeep` or until you prune them by id."""
    request = requests.Mark(snapshots=tuple(snapshots), dry_run=dry_run, zone=zone_for(*snapshots))
    return at_workspace(context, "snapshots keep", request, _marked)


@app.command("unkeep", cls=VerbCommand)
def unkeep(
    context: typer.Context,
    snapshots: Annotated[list[str], SNAPSHOTS],
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[SnapshotsMarked]:
    """Take the mark away, so that the rules decide again.

    Also for snapshots that scratchflow marked because the backup after them was much smaller: this says that
    the smaller one is right.
    """
    request = requests.Mark(snapshots=tuple(snapshots), dry_run=dry_run, zone=zone_for(*snapshots))
    return at_workspace(context, "snapshots unkeep", request, _marked)


@app.command("export", cls=VerbCommand)
def export(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Where to, on the node, or `laptop:FILE` on this machine; must not exist.",
        ),
    ],
    snapshot: Annotated[str, SNAPSHOT] = "latest",
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[SnapshotExported]:
    """Write one plain full `.tar.lz4` that `lz4` and `tar` read.

    Every byte is checked on the way: of a damaged snapshot no file is written (exit code 31).
    `laptop:FILE` is a file of the machine that you type on, and needs no node.
    """
    here = on_laptop(file)
    if here is not None:
        return _export_here(context, here, snapshot, dry_run=dry_run)
    request = requests.Export(
        file=file, snapshot=snapshot, dry_run=dry_run, zone=zone_for(snapshot)
    )
    return at_workspace(context, "snapshots export", request, _exported)


def _export_here(
    context: typer.Context, file: str, snapshot: str, *, dry_run: bool
) -> Call[SnapshotExported]:
    if not file:
        problem = "`laptop:` needs a file, like `laptop:thesis.tar.lz4`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = requests.Export(
        file=file, snapshot=snapshot, dry_run=dry_run, zone=zone_for(snapshot)
    )
    who = caller(context)

    def run(emit: Emit) -> SnapshotExported:
        from scratchflow.flows.take_home import export_here

        return export_here(who, request, file, emit)

    return Call("snapshots export", run, _exported)


@app.command("import", cls=VerbCommand)
def import_file(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Any `.tar.lz4` on the node.")],
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[SnapshotImported]:
    """Take a `.tar.lz4` into the store as a snapshot.

    An archive of scratchflow's own comes back as it was, with everything that was saved beside the
    workspace. Any other: when all its names start with the workspace's name or one of `backup.also`,
    they are taken as they are; otherwise all of it goes beneath the workspace.

    The imported snapshot becomes `latest`, however old the archive is: a plain `restore`, and `up` on
    another node, bring it. `scratchflow restore ID` with the id of the one before goes back.
    """
    request = requests.Import(file=file, dry_run=dry_run)
    return at_workspace(context, "snapshots import", request, _imported)


def _listed(listed: SnapshotsListed) -> Iterator[str]:
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


def _listed_in_full(listed: SnapshotsListed) -> Iterator[str]:
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
    for one, fixed in zip(listed.snapshots, aligned(rows, right={3, 4}), strict=True):
        line = GAP.join([fixed, *_details(one)])
        if width is None or cells(line) <= width:
            yield line
        else:
            yield fixed
            yield from broken(f"    {GAP.join(_details(one))}", width, "    ")


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


def _listed_inside(shown: SnapshotShown) -> Iterator[str]:
    yield from map(_entry_line, shown.entries)


def _shown(shown: SnapshotShown) -> Iterator[str]:
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


def _diffed(diffed: SnapshotsDiffed) -> Iterator[str]:
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


def _verified(verified: SnapshotsVerified) -> Iterator[str]:
    for one in verified.bad:
        yield f"✗ {named(one.id)}: {printable(one.reason)}"
    if not verified.checked and not verified.bad:
        yield "the store has no snapshot: nothing was checked"
        return
    yield f"{verified.checked:,} checked, {len(verified.bad):,} damaged"


def _pruned(pruned: SnapshotsPruned) -> Iterator[str]:
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


def _marked(marked: SnapshotsMarked) -> Iterator[str]:
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


def _exported(exported: SnapshotExported) -> Iterator[str]:
    word = "would write" if exported.dry_run else "wrote"
    path = f"`{printable(exported.path)}`{on_host(exported.host)}"
    yield f"{word} {path} ({format_size(exported.bytes)}) from snapshot {named(exported.snapshot)}"


def _imported(imported: SnapshotImported) -> Iterator[str]:
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
