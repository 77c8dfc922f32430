"""`scratchflow create`: make the workspace and take its first snapshot."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand
from scratchflow.cli.placed import at_workspace
from scratchflow.flows.wishes import DryRun
from scratchflow.model.results import WorkspaceCreated

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def create(
    context: typer.Context, dry_run: Annotated[bool, DRY_RUN] = False
) -> Call[WorkspaceCreated]:
    """Make the workspace and take its first snapshot.

    A workspace that exists is taken as it is. One that has snapshots already is to be restored.
    """
    return at_workspace(context, "create", DryRun(dry_run=dry_run), _shown)


def _shown(created: WorkspaceCreated) -> Iterator[str]:
    if created.dry_run:
        yield f"would make `{created.path}` and take its first snapshot"
    else:
        yield f"workspace `{created.path}`, first snapshot {created.snapshot}"
