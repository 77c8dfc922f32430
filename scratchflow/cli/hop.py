"""`scratchflow hop`: onto another node, with everything."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.clear import LEAVE_BEHIND
from scratchflow.cli.node_request import NodeCommand, node_request
from scratchflow.cli.options import DRY_RUN, caller
from scratchflow.model.ages import named
from scratchflow.model.ages import until as until_words
from scratchflow.model.events import Emit
from scratchflow.model.results import Hopped
from scratchflow.model.text import printable
from scratchflow.model.wrap import Whole

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=NodeCommand)
def hop(
    context: typer.Context,
    leave_behind: Annotated[bool, LEAVE_BEHIND] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Hopped]:
    """Move to another node: back up, take the next one, restore there, give the old one back.

    The old node is kept until the workspace is whole on the new one, and while a file on it is in no
    snapshot. Interrupted, run it again: it goes on.
    """
    wanted = node_request(context)
    who = caller(context)

    def run(emit: Emit) -> Hopped:
        from scratchflow.flows.hop import hop as flow

        request = wanted.hold(who.settings(), dry_run=dry_run)
        return flow(who, emit, request, leave_behind=leave_behind)

    return Call("hop", run, _shown)


def _shown(hopped: Hopped) -> Iterator[str]:
    if hopped.dry_run:
        yield Whole("would run: " + printable("; ".join(hopped.commands)))
        return
    job = f"job {hopped.job_id}"
    until = f", {until_words(hopped.end_time)}" if hopped.end_time else ""
    yield f"from `{printable(hopped.from_node)}` to `{printable(hopped.node)}`, {job}{until}"
    if hopped.snapshot:
        yield f"the workspace there is snapshot {named(hopped.snapshot)}"
    for name in hopped.servers:
        yield f"`{printable(name)}` runs there too; its tunnel follows"
    yield f"job {hopped.from_job_id} was given back; reload editor windows that were open there"
