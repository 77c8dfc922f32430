"""`scratchflow up`: start working."""

from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.node_request import NodeCommand, node_request
from scratchflow.cli.options import DRY_RUN, YES, caller
from scratchflow.cli.up_call import Start, up_call
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.results.up import UpAndRunning

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=NodeCommand)
def up(
    context: typer.Context,
    login: Annotated[
        str,
        typer.Argument(
            metavar="[LOGIN]",
            help="A login host or profile. A new host is set up first, asking once.",
        ),
    ] = "",
    open_editor: Annotated[
        bool, typer.Option("--open", help="Open VS Code there instead of printing how.")
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", help="Work on this machine alone, without a cluster.")
    ] = False,
    yes: Annotated[bool, YES] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[UpAndRunning]:
    """Take a node, bring the workspace there, switch the auto-backup on.
    Does only what is missing, so it is always safe to run again.
    """
    if local and login:
        problem = "`--local` is without a cluster, and LOGIN names one: choose one of them"
        raise UsageInvalid(problem=problem, command=context.command_path)
    wanted = node_request(context)
    start = Start(login=login, open_editor=open_editor, local=local, yes=yes, dry_run=dry_run)
    return up_call(caller(context), wanted, start)
