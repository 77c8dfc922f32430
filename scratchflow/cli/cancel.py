"""`scratchflow cancel`: ends submitted jobs."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, caller
from scratchflow.cli.questions import TerminalAsker, agreed
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.requests import CancelJobs
from scratchflow.model.results.jobs import JobsCancelled
from scratchflow.model.text import printable

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def cancel(
    context: typer.Context,
    jobs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JOB]...",
            help="Jobs by number or name, or tasks like `41_3`.",
            show_default=False,
        ),
    ] = None,
    mine: Annotated[
        bool, typer.Option("--mine", help="All jobs of this workspace that have not ended.")
    ] = False,
    tag: Annotated[str, typer.Option("--tag", metavar="TAG", help="Those with this tag.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without asking.")] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[JobsCancelled]:
    """End submitted jobs, after a question that names them. What they made is still collected.

    The node that you work on is not a submitted job: `scratchflow clear` gives it back.
    """
    if sum((bool(jobs), mine, bool(tag))) != 1:
        problem = "name jobs, or give one of `--mine` and `--tag`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    who = caller(context)
    request = CancelJobs(wanted=tuple(jobs or ()), mine=mine, tag=tag, dry_run=dry_run)

    def flow(emit: Emit) -> JobsCancelled:
        from scratchflow.flows.jobs.cancel import cancel as cancel_jobs

        asker = TerminalAsker(emit, may_ask=who.may_ask, yes=yes)

        def agrees(found: JobsCancelled) -> bool:
            return agreed(asker, f"Cancel {_named(found)}?")

        return cancel_jobs(who, emit, request, agrees)

    return Call("cancel", flow, _shown)


def _named(found: JobsCancelled) -> str:
    pairs = zip(found.cancelled, found.names, strict=True)
    return ", ".join(f"{number} (`{printable(name)}`)" for number, name in pairs)


def _shown(found: JobsCancelled) -> Iterator[str]:
    if not found.cancelled:
        yield "there was nothing to cancel"
    elif found.dry_run:
        yield f"would cancel {_named(found)}"
    else:
        yield f"cancelled {_named(found)}"
