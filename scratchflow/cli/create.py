"""`scratchflow create`: make the workspace and take its first snapshot."""

import os
from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, asked, is_verbose
from scratchflow.model.events import Emit
from scratchflow.model.results import WorkspaceCreated

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def create(
    context: typer.Context, dry_run: Annotated[bool, DRY_RUN] = False
) -> Call[WorkspaceCreated]:
    """Make the workspace and take its first snapshot.

    A workspace that exists is taken as it is. One that has snapshots already is to be restored.
    """
    wanted, verbose = asked(context), is_verbose(context)

    def run(emit: Emit) -> WorkspaceCreated:
        from scratchflow.flows.create import create as flow
        from scratchflow.flows.here import find_here
        from scratchflow.flows.telling import Teller

        here = find_here(wanted, os.environ, emit)
        return flow(here, Teller(emit, wants_items=verbose), dry_run=dry_run)

    return Call("create", run, _shown)


def _shown(created: WorkspaceCreated) -> Iterator[str]:
    if created.dry_run:
        yield f"would make `{created.path}` and take its first snapshot"
    else:
        yield f"workspace `{created.path}`, first snapshot {created.snapshot}"
