"""`scratchflow shell`: a shell on the node, in the workspace."""

from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.cli.run import CWD, UP
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results.run import RunEnded

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def shell(
    context: typer.Context, cwd: Annotated[str, CWD] = "", take_node: Annotated[bool, UP] = False
) -> Call[RunEnded]:
    """Open a login shell on the node, in the workspace, with the profile's environment.

    It ends with `exit`, and with the connection. `attach` shows one that stays. `ssh` to the alias starts
    in your home, without that environment.
    """
    who = caller(context)
    if not who.may_ask:
        problem = "`--json` makes no sense in a terminal; `run -- CMD` is for programs"
        raise UsageInvalid(problem=problem, command=context.command_path)

    def flow(emit: Emit) -> RunEnded:
        from scratchflow.flows.run.run import run
        from scratchflow.flows.run.start import Wanted

        return run(who, emit, Wanted(cwd=cwd, terminal=True, take_node=take_node))

    return Call("shell", flow, lambda _: ())
