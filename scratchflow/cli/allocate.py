"""`scratchflow allocate`: take a compute node, and point the ssh alias at it."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, caller
from scratchflow.model.errors import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.requests import Hold
from scratchflow.model.results import Allocated
from scratchflow.model.text import printable
from scratchflow.model.units import Duration

app = typer.Typer(rich_markup_mode=None, add_completion=False)

NODE = typer.Option("--node", metavar="NODE", help="This node; a bare number is completed.")
NO_WARM = typer.Option("--no-warm", help="Do not prefer a node that still holds a copy.")
WAIT = typer.Option("--wait", metavar="TIME", help="How long to wait in the queue, like `10m`.")


@app.command(cls=VerbCommand)
def allocate(
    context: typer.Context,
    node: Annotated[str, NODE] = "",
    no_warm: Annotated[bool, NO_WARM] = False,
    wait: Annotated[str, WAIT] = "",
    keep_waiting: Annotated[
        bool,
        typer.Option("--keep-waiting", help="At the limit, leave the request in the queue."),
    ] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Allocated]:
    """Take a compute node, and point the ssh alias at it.

    A node that is held already is used again. Ctrl-C while it waits withdraws the request.
    """
    who = caller(context)
    waiting_s = parsed_wait(wait, context)

    def run(emit: Emit) -> Allocated:
        from scratchflow.flows.allocate import allocate as flow

        wait_s = who.settings().profile.wait.seconds if waiting_s is None else waiting_s
        request = Hold(
            node=node,
            warm=not no_warm,
            wait_s=wait_s,
            keep_waiting=keep_waiting,
            dry_run=dry_run,
        )
        return flow(who, emit, request)

    return Call("allocate", run, shown)


def parsed_wait(text: str, context: typer.Context) -> int | None:
    """The seconds of `--wait`; None when it was not given."""
    if not text:
        return None
    try:
        return Duration.parse(text).seconds
    except ValueError as error:
        problem = f"`--wait`: expected {error}, got `{text}`"
        raise UsageInvalid(problem=problem, command=context.command_path) from None


def shown(got: Allocated) -> Iterator[str]:
    """What a person reads about it."""
    if got.dry_run:
        yield f"would run: {printable(got.command)}"
        return
    job = f", job {got.job_id}" if got.job_id is not None else ""
    until = f", until {got.end_time}" if got.end_time else ""
    again = " (held already)" if got.reused else ""
    yield f"node `{printable(got.node)}`{job}{until}{again}"
    if got.warm:
        yield f"it is warm: its scratch holds snapshot {got.warm}"
    if got.alias:
        yield f"`ssh {got.alias}` leads there"
