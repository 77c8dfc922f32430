"""`scratchflow hop`: onto another node, with everything."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.clear import ENDS_RUNS, LEAVE_BEHIND
from scratchflow.cli.node_request import NodeCommand, node_request
from scratchflow.cli.node_wanted import NodeRequest
from scratchflow.cli.options import DRY_RUN, caller
from scratchflow.cli.questions import where_somebody_is
from scratchflow.cli.remote_call import would_run_each
from scratchflow.model.ages import named
from scratchflow.model.ages import until as until_words
from scratchflow.model.events import Emit
from scratchflow.model.results.allocation import Hopped, HoppedTo
from scratchflow.model.text import printable
from scratchflow.model.units import format_size

if TYPE_CHECKING:
    from scratchflow.dispatch.cluster import Caller

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=NodeCommand)
def hop(
    context: typer.Context,
    to: Annotated[
        str,
        typer.Option("--to", metavar="PROFILE", help="To a node of this other cluster."),
    ] = "",
    leave_behind: Annotated[bool, LEAVE_BEHIND] = False,
    yes: Annotated[bool, ENDS_RUNS] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Hopped] | Call[HoppedTo]:
    """Move to another node, with everything.
    The old node is kept until all is whole on the new one, and while a workspace there is not saved.
    Without `--to`, other workspaces come along. Interrupted, run it again.
    """
    wanted = node_request(context)
    who = caller(context)
    if to:
        return _to_another_cluster(
            who, wanted, to, leave_behind=leave_behind, yes=yes, dry_run=dry_run
        )

    def run(emit: Emit) -> Hopped:
        from scratchflow.flows.hop.hop import hop as flow

        request = wanted.hold(who.settings(), dry_run=dry_run)
        agrees = where_somebody_is(emit, who.may_ask, yes=yes)
        return flow(who, emit, request, leave_behind=leave_behind, agrees=agrees)

    return Call("hop", run, _shown)


def _to_another_cluster(
    who: "Caller", wanted: NodeRequest, to: str, *, leave_behind: bool, yes: bool, dry_run: bool
) -> Call[HoppedTo]:
    def run(emit: Emit) -> HoppedTo:
        from scratchflow.flows.hop.to_profile import hop_to, of_profile

        request = wanted.hold(of_profile(who, to).settings(), dry_run=dry_run)
        agrees = where_somebody_is(emit, who.may_ask, yes=yes)
        return hop_to(who, emit, request, to, leave_behind=leave_behind, agrees=agrees)

    return Call("hop --to", run, _shown_there)


def _shown_there(hopped: HoppedTo) -> Iterator[str]:
    if hopped.dry_run:
        yield from would_run_each(hopped.commands)
        return
    source, to = printable(hopped.source), printable(hopped.to)
    job = f", job {hopped.job_id}" if hopped.job_id is not None else ""
    until = f", {until_words(hopped.end_time)}" if hopped.end_time else ""
    yield f"from `{source}` to `{printable(hopped.node)}` of `{to}`{job}{until}"
    yield f"the workspace there has snapshot {named(hopped.snapshot or '')}; {format_size(hopped.sent_bytes)} went over"
    if hopped.from_job_id is not None:
        yield f"job {hopped.from_job_id} of `{source}` was given back"
    if hopped.alias:
        yield f"`ssh {printable(hopped.alias)}` leads there"
    yield f"commands go there with `-p {to}`; `scratchflow profiles use {to}` makes that the default"


def _shown(hopped: Hopped) -> Iterator[str]:
    if hopped.dry_run:
        yield from would_run_each(hopped.commands)
        return
    job = f"job {hopped.job_id}"
    until = f", {until_words(hopped.end_time)}" if hopped.end_time else ""
    yield f"from `{printable(hopped.from_node)}` to `{printable(hopped.node)}`, {job}{until}"
    if hopped.snapshot:
        yield f"the workspace there has snapshot {named(hopped.snapshot)}"
    for name, snapshot in hopped.others.items():
        yield f"workspace `{printable(name)}` came along, snapshot {named(snapshot)}"
    for name in hopped.servers:
        yield f"`{printable(name)}` runs there too; its tunnel follows"
    yield f"job {hopped.from_job_id} was given back; reload editor windows that were open there"
