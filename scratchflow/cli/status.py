"""`scratchflow status`: what is true now."""

from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.cli.status_lines import shown, watched
from scratchflow.model.errors import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results import StatusShown

app = typer.Typer(rich_markup_mode=None, add_completion=False)

WATCH_EVERY_S = 5.0


@app.command(cls=VerbCommand)
def status(
    context: typer.Context,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep it in sight, up to date, until Ctrl-C.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Park a stale alias, start a dead auto-backup again.")
    ] = False,
) -> Call[StatusShown]:
    """Show allocation, time left, alias, workspace, snapshots and auto-backup, problems, and what to do next."""
    if watch and fix:
        problem = "`--watch` and `--fix` exclude each other"
        raise UsageInvalid(problem=problem, command=context.command_path)
    who = caller(context)

    def run(emit: Emit) -> StatusShown:
        from scratchflow.flows import status as flow

        if watch:
            return flow.watch(who, emit, WATCH_EVERY_S)
        return flow.status(who, emit, fix=fix)

    return Call("status", run, watched if watch else shown, until_interrupted=watch)
