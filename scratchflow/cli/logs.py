"""`scratchflow logs`: what a submitted job printed."""

from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.requests import ReadLogs
from scratchflow.model.results.jobs import LogsShown

LAST = "last"
LAST_JOB = typer.Argument(
    metavar="[JOB]",
    help="Slurm's number, `41_3` for a task, the id's end or a name; the last job unless given.",
    show_default=False,
)

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def logs(
    context: typer.Context,
    job: Annotated[str, LAST_JOB] = LAST,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Go on until the task ends, with its exit code."),
    ] = False,
    task: Annotated[
        int | None,
        typer.Option("--task", metavar="N", help="Of this task; the first unless given."),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Of the first task that did not end well.")
    ] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Only what went to stderr.")] = False,
) -> Call[LogsShown]:
    """Show what a submitted job printed: its stdout to stdout, its stderr to stderr.

    While it runs, it is read on its node, so that a line shows at once; afterwards from the store.
    Of a job that has not started it says why; `-f` waits for it.
    Of an array, one task is shown and followed, the first unless another is named: the exit code of
    `-f` says nothing of the others, whose states `scratchflow jobs show JOB` lists.
    """
    who = caller(context)
    if follow and not who.may_ask:
        problem = "`--json` and `-f` exclude each other: the output would be mixed in"
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = ReadLogs(wanted=job, task=task, failed=failed, follow=follow, only_error=stderr)

    def flow(emit: Emit) -> LogsShown:
        from scratchflow.flows.jobs.logs import show_logs

        return show_logs(who, emit, request, keep=not who.may_ask)

    return Call("logs", flow, lambda _: ())
