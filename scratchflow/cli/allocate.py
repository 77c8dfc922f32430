"""`scratchflow allocate`: take a compute node, and point the ssh alias at it."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call, announced_late
from scratchflow.cli.node_request import NodeCommand, node_request
from scratchflow.cli.options import DRY_RUN, caller
from scratchflow.cli.remote_call import other_nodes, would_run
from scratchflow.model.ages import named
from scratchflow.model.ages import until as until_words
from scratchflow.model.events import Emit
from scratchflow.model.results.allocation import Allocated
from scratchflow.model.text import printable
from scratchflow.model.wrap import Whole

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=NodeCommand)
def allocate(
    context: typer.Context,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Allocated]:
    """Take a compute node, and point the ssh alias at it.

    A node that is held already is used again. Ctrl-C while it waits withdraws the request.
    """
    wanted = node_request(context)
    who = caller(context)

    def run(emit: Emit) -> Allocated:
        from scratchflow.flows.allocate import allocate as flow

        hold = wanted.hold(who.settings(), dry_run=dry_run)
        got = flow(who, wanted.saying_if_not_sent(emit), hold)
        if got.reused:
            wanted.say_if_unused(emit, got.node, got.job_id)
        return got

    call = Call("allocate", run, shown)
    return announced_late("asking Slurm", call, is_watched=who.may_ask)


def shown(got: Allocated) -> Iterator[str]:
    """What a person reads about it."""
    if got.dry_run:
        yield Whole(would_run(got.command, got.node, got.job_id))
        return
    job = f", job {got.job_id}" if got.job_id is not None else ""
    until = f", {until_words(got.end_time)}" if got.end_time else ""
    again = " (held already)" if got.reused else ""
    yield f"node `{printable(got.node)}`{job}{until}{again}"
    if got.warm and got.newest:
        yield f"its scratch holds an older copy, of snapshot {named(got.warm)}; `scratchflow up` brings the newest, {named(got.newest)}"
    elif got.warm:
        yield f"it is warm: its scratch holds snapshot {named(got.warm)}"
    elif got.job_id is not None:  # on this machine alone, it is where it always is
        yield "`scratchflow up` brings the workspace there"
    if got.alias:
        yield f"`ssh {got.alias}` leads there"
    yield from other_nodes(got.nodes, got.alias)
