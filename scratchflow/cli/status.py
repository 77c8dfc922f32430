"""`scratchflow status`: what is true now."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scratchflow.cli.call import ASKING, Call, announced_late
from scratchflow.cli.every_profile import refuse_with_all
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.cli.status_lines import overview, shown, watched
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results.status import StatusOfAll, StatusShown

if TYPE_CHECKING:
    from scratchflow.dispatch.cluster import Caller

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
    usage: Annotated[
        bool,
        typer.Option(
            "--usage",
            help="Also what is in use on the node: CPUs, memory, scratch, GPUs.",
        ),
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Every profile in short, all clusters asked at once, 30 s at most."
        ),
    ] = False,
) -> Call[Any]:
    """Show allocation, time left, alias, workspace, snapshots and auto-backup, problems, and what to do next."""
    if watch and fix:
        problem = "`--watch` and `--fix` exclude each other"
        raise UsageInvalid(problem=problem, command=context.command_path)
    who = caller(context)
    if every:
        refuse_with_all(context, who, {"--watch": watch, "--fix": fix, "--usage": usage})
        return Call("status --all", partial(_of_all, who), overview)

    def run(emit: Emit) -> StatusShown:
        if watch:
            from scratchflow.flows.watch.watch import watch as watching

            return watching(who, emit, WATCH_EVERY_S, usage=usage)
        from scratchflow.flows import status as flow

        return flow.status(who, emit, fix=fix, usage=usage)

    call = Call("status", run, watched if watch else shown, until_interrupted=watch)
    return announced_late(ASKING, call, is_watched=who.may_ask and not watch)


def _of_all(who: "Caller", emit: Emit) -> StatusOfAll:
    from scratchflow.flows import status as flow

    return flow.status_of_all(who, emit)
