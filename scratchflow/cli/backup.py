"""`scratchflow backup`: take a snapshot of the workspace."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, may_ask
from scratchflow.cli.questions import confirmed
from scratchflow.cli.remote_call import at_workspace
from scratchflow.model.ages import for_people, named, shown_id
from scratchflow.model.errors import ShrinkGuard
from scratchflow.model.events import Emit
from scratchflow.model.requests import Backup
from scratchflow.model.results import BackupTaken
from scratchflow.model.text import counted, removed_in_words
from scratchflow.model.units import format_size, format_took
from scratchflow.report.question import question_open

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_QUESTION = (
    "Save what is left? The larger snapshot then stays only as long as the usual rules keep it"
)


@app.command(cls=VerbCommand)
def backup(
    context: typer.Context,
    full: Annotated[
        bool, typer.Option("--full", help="Store everything, also what the last snapshot has.")
    ] = False,
    allow_shrink: Annotated[
        bool,
        typer.Option(
            "--allow-shrink",
            help="Go on though most of the workspace is gone since last time; the usual rules then"
            " decide how long the snapshot before it stays.",
        ),
    ] = False,
    message: Annotated[
        str,
        typer.Option(
            "--message",
            "-m",
            metavar="TEXT",
            help="A name for it; a snapshot with one is kept until you prune it.",
        ),
    ] = "",
    from_node: Annotated[
        str,
        typer.Option(
            "--from-node",
            metavar="NODE",
            help="Of several nodes, save this one's copy instead of the first's; by name or number.",
        ),
    ] = "",
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[BackupTaken]:
    """Take a snapshot of the workspace.

    Stores what changed since the last snapshot, or everything when that is better. When nothing
    changed, nothing is stored; with a message a snapshot of that name is taken all the same. When
    most of the files are gone, it asks first; without a terminal it saves nothing and exits with 36.
    """
    request = Backup(full=full, allow_shrink=allow_shrink, message=message, dry_run=dry_run)
    call: Call[BackupTaken] = at_workspace(context, "backup", request, _shown, node=from_node)
    if dry_run or not may_ask(context) or not sys.stdin.isatty():
        return call
    agreed = Backup(full=full, allow_shrink=True, message=message)
    again: Call[BackupTaken] = at_workspace(context, "backup", agreed, _shown, node=from_node)

    def run(emit: Emit) -> BackupTaken:
        try:
            return call.flow(emit)
        except ShrinkGuard as refused:
            with question_open(emit):
                if not _agrees(emit, refused):
                    raise
        return again.flow(emit)

    return Call(call.op, run, call.show)


def _agrees(emit: Emit, refused: ShrinkGuard) -> bool:
    # The hint, not the fields: an error that an agent reported has none.
    sys.stderr.write(for_people(f"{refused}\n{refused.shown_hint}\n"))
    return confirmed(emit, _QUESTION)


def _shown(taken: BackupTaken) -> Iterator[str]:
    if taken.kind == "unchanged":
        yield f"nothing changed since snapshot {named(taken.snapshot or '')}"
        return
    changed = f"{counted(taken.changed_files, 'file')} ({format_size(taken.changed_bytes)}) changed"
    if taken.removed_files:
        changed += f", {counted(taken.removed_files, 'file')} removed"
    total = f"{counted(taken.files, 'file')}, {format_size(taken.bytes)}"
    if taken.dry_run:
        yield f"would take a snapshot: {taken.kind}, {changed}, {total} in all"
    else:
        stored = f"{format_size(taken.stored_bytes)} stored in {format_took(taken.duration_s)}"
        yield f"snapshot {shown_id(taken.snapshot or '')}: {taken.kind}, {changed}, {total} in all, {stored}"
    if taken.pruned:
        yield removed_in_words(taken.pruned)
