"""`scratchflow backup`: take a snapshot of the workspace."""

from typing import Annotated

import typer

from scratchflow.cli.backup_call import backup_call
from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, caller
from scratchflow.model.requests import Backup
from scratchflow.model.results.backup import BackupTaken

app = typer.Typer(rich_markup_mode=None, add_completion=False)


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
    return backup_call(caller(context), request, from_node)
