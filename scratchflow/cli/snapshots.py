"""`scratchflow snapshots`: look at, check and move snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import typer

from scratchflow.cli import snapshot_words as words
from scratchflow.cli.call import Call, announced_late
from scratchflow.cli.every_profile import refuse_with_all, speaking_for, unanswered_lines
from scratchflow.cli.naming import NAMED, zone_for
from scratchflow.cli.options import (
    DRY_RUN,
    SNAPSHOT,
    SNAPSHOTS,
    ListingGroup,
    VerbCommand,
    caller,
    is_verbose,
    may_ask,
)
from scratchflow.cli.remote_call import at_workspace
from scratchflow.cli.removal import confirm_removal, removal_in_words
from scratchflow.cli.snapshot_transfer import MOVES
from scratchflow.model import requests
from scratchflow.model.ages import for_profile
from scratchflow.model.errors.base import CommandUnknown
from scratchflow.model.events import Emit, Event, Log
from scratchflow.model.results.base import Result
from scratchflow.model.results.snapshots import (
    FileShown,
    PathHistory,
    SnapshotRow,
    SnapshotsDiffed,
    SnapshotShown,
    SnapshotsListed,
    SnapshotsMarked,
    SnapshotsOfAll,
    SnapshotsPruned,
    SnapshotsVerified,
)
from scratchflow.model.text import printable
from scratchflow.report.output import terminal_width

if TYPE_CHECKING:
    from scratchflow.dispatch.cluster import Caller

R = TypeVar("R", bound=Result)


class SnapshotsGroup(ListingGroup):
    """`snapshots` alone lists them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """`snapshots rm 570643`: what does that."""
        from scratchflow.cli.other_words import meant_after_snapshots

        if args[0] not in self.commands and (meant := meant_after_snapshots(args)):
            problem = f"no such command: {printable(args[0])}; did you mean `scratchflow {meant}`?"
            raise CommandUnknown(problem=problem, command=ctx.command_path)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=SnapshotsGroup,
    rich_markup_mode=None,
    add_completion=False,
    help="Look at, check and move snapshots. HOW-TO-RESTORE.txt beside them helps without scratchflow.",
)


@app.command("list", cls=VerbCommand)
def list_snapshots(
    context: typer.Context,
    every: Annotated[
        bool,
        typer.Option(
            "--all-profiles",
            help="Those of every profile, all clusters asked at once, 30 s at most.",
        ),
    ] = False,
) -> Call[Any]:
    """List the snapshots, newest last; `-v` adds ids, sizes and nodes."""
    say = words.listed_in_full if is_verbose(context) else words.listed
    if every:
        who = caller(context)
        refuse_with_all(context, who, {})
        return Call("snapshots list all", partial(_of_all, who), partial(_listed_by_profile, say))
    call: Call[SnapshotsListed] = _looking(
        caller(context), "snapshots list", requests.Nothing(), say
    )
    return Call(call.op, partial(_of_one, call), say)


def _looking(
    who: Caller,
    op: str,
    request: requests.Arguments,
    say: Callable[[R], Iterable[str]],
    do: str = "",
) -> Call[R]:
    """At snapshots, with a sign of life when it takes a while."""
    call: Call[R] = at_workspace(who, op, request, say, do=do)
    return announced_late("looking at snapshots", call, is_watched=who.may_ask)


def _of_one(call: Call[SnapshotsListed], emit: Emit) -> SnapshotsListed:
    found = call.flow(emit)
    return msgspec.structs.replace(found, snapshots=words.as_listed(found.snapshots))


def _of_all(who: Caller, emit: Emit) -> SnapshotsOfAll:
    from scratchflow.dispatch.every_profile import snapshots_of_all

    found = snapshots_of_all(who, emit)
    profiles = [
        msgspec.structs.replace(one, snapshots=words.as_listed(one.snapshots))
        for one in found.profiles
    ]
    return msgspec.structs.replace(found, profiles=profiles)


def _listed_by_profile(
    say: Callable[[SnapshotsListed], Iterator[str]], found: SnapshotsOfAll
) -> Iterator[str]:
    """Each profile with its list beneath it."""
    for number, one in enumerate(found.profiles):
        yield from [""] if number else []
        yield f"{one.profile} ({printable(one.login)}):"
        listed = SnapshotsListed(one.snapshots, one.now, one.store_bytes)
        with speaking_for(one.profile):
            yield from [for_profile(line) for line in say(listed)]
    yield from unanswered_lines(found, terminal_width())


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
    say = words.shown if path is None else words.listed_inside
    return _looking(caller(context), "snapshots show", request, say)


@app.command("cat", cls=VerbCommand)
def cat(
    context: typer.Context,
    snapshot: Annotated[str, SNAPSHOT],
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="The file, like `src/main.py`; a glob has to fit one file only."
        ),
    ],
) -> Call[FileShown]:
    """Write one file of a snapshot to stdout, byte for byte.

    It comes from the store, and needs no node. A symlink leads to what it meant inside the snapshot. When the
    content turns out to be damaged, the exit code is 31, and what was written is not to be trusted.
    `--json` has the content of files up to 64 MiB as base64.
    """
    who = caller(context)
    request = requests.Cat(snapshot=snapshot, path=path, zone=zone_for(snapshot))

    def run(emit: Emit) -> FileShown:
        from scratchflow.flows.transfer.content import show_content

        return show_content(who, emit, request, keep=not who.may_ask)

    return Call("snapshots cat", run, lambda _: ())


@app.command("history", cls=VerbCommand)
def history(
    context: typer.Context,
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A file, like `src/main.py`, also a deleted one.")
    ],
) -> Call[PathHistory]:
    """List the versions of one file by content, oldest first.

    Each line begins with the first snapshot that has that version. Reads no content, and needs no node.
    """
    request = requests.History(path=path)
    return _looking(caller(context), "snapshots history", request, words.versions)


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
    """Say which paths differ from the last snapshot, or from another one.

    It compares the workspace. Alone it says what would be lost with the node now. Excluded files are in no snapshot: it leaves them out.
    With two snapshots, compares those; that needs no node. A directory that is all new or gone is one line; `-v` lists what is in it.
    """
    op = "snapshots diff"
    say = words.diffed_in_full if is_verbose(context) else words.diffed
    if older is not None and newer is not None:
        between = requests.Diff(older=older, newer=newer, zone=zone_for(older, newer))
        return _looking(caller(context), op, between, say)
    zone = zone_for(older) if older is not None else ()
    live = requests.DiffWorkspace(older=older, zone=zone)
    return _looking(caller(context), op, live, say, do="snapshots diff workspace")


@app.command("verify", cls=VerbCommand)
def verify(
    context: typer.Context,
    snapshots: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SNAPSHOT]...", help="These only.", show_default=False),
    ] = None,
) -> Call[SnapshotsVerified]:
    """Read snapshots back, every byte; exit 31 when one is damaged.

    One that a newer scratchflow made is not checked, and the exit code is 31, too.
    """
    request = requests.Verify(snapshots=tuple(snapshots or ()), zone=zone_for(*(snapshots or ())))
    return at_workspace(caller(context), "snapshots verify", request, words.verified)


@app.command("prune", cls=VerbCommand)
def prune(
    context: typer.Context,
    snapshots: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SNAPSHOT]...",
            help="Remove these; a marked one needs `snapshots unkeep` first.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove named snapshots without asking.")
    ] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[SnapshotsPruned]:
    """Remove the snapshots that no rule keeps, or the named ones.

    The rules are the profile's `keep_*`. Snapshots with a message of yours, those marked by `snapshots keep`,
    for `keep_jobs` those that a submitted job ran from, and for `keep_unmerged` those taken before a
    restore and the tips of forks stay as well. A snapshot that is named here is removed all the same,
    unless it is marked or a job ran from it, after a question that shows what goes; without a terminal only with `--yes`.
    """
    call = _prune_call(context, snapshots or [], dry_run=dry_run)
    if snapshots and dry_run:
        return _foretold(context, call)
    if not snapshots or yes:
        return call
    return Call(call.op, _confirmed(context, snapshots), call.show)


def _foretold(context: typer.Context, call: Call[SnapshotsPruned]) -> Call[SnapshotsPruned]:
    """What is named is shown as in the question: with its name, and why it stayed so far."""
    rows: list[SnapshotRow] = []

    def run(tell: Emit) -> SnapshotsPruned:
        emit = _each_remark_once(tell)
        planned = call.flow(emit)
        rows[:] = _rows_of(context, planned, emit)
        return planned

    def show(planned: SnapshotsPruned) -> Iterator[str]:
        if planned.blocked:
            yield from call.show(planned)
            return
        yield from removal_in_words("Would remove for good:", rows, planned)

    return Call(call.op, run, show)


def _rows_of(context: typer.Context, planned: SnapshotsPruned, emit: Emit) -> list[SnapshotRow]:
    listing: Call[SnapshotsListed] = at_workspace(
        caller(context), "snapshots list", requests.Nothing(), words.listed
    )
    return [one for one in listing.flow(emit).snapshots if one.id in planned.removed]


def _confirmed(context: typer.Context, snapshots: list[str]) -> Callable[[Emit], SnapshotsPruned]:
    """Removes what was shown and agreed to: `latest` may be another one after the question."""

    def run(tell: Emit) -> SnapshotsPruned:
        emit = _each_remark_once(tell)
        planned = _prune_call(context, snapshots, dry_run=True).flow(emit)
        if planned.blocked:
            return msgspec.structs.replace(planned, dry_run=False)
        rows = _rows_of(context, planned, emit)
        confirm_removal(rows, planned, emit, may_ask=may_ask(context))
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
    return at_workspace(caller(context), "snapshots prune", request, words.pruned)


@app.command("keep", cls=VerbCommand)
def keep(
    context: typer.Context,
    snapshots: Annotated[list[str], SNAPSHOTS],
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[SnapshotsMarked]:
    """Mark snapshots: they stay until `snapshots unkeep`; `snapshots prune` refuses them."""
    request = requests.Mark(snapshots=tuple(snapshots), dry_run=dry_run, zone=zone_for(*snapshots))
    return at_workspace(caller(context), "snapshots keep", request, words.marked)


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
    return at_workspace(caller(context), "snapshots unkeep", request, words.marked)


# In the order of `--help`; what moves snapshots stands after what looks at them.
for _name, _command in MOVES.items():
    app.command(_name, cls=VerbCommand)(_command)
