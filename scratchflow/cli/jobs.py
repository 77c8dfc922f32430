"""`scratchflow jobs`: what was submitted, how it went, and the same again."""

import os
import time as clock
from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from scratchflow.cli.call import Call, announced
from scratchflow.cli.job_words import (
    details,
    differences,
    listed,
    outputs_in_words,
    pruned,
    removal_in_words,
)
from scratchflow.cli.logs import LAST, LAST_JOB
from scratchflow.cli.node_request import ResourceCommand, resource_flags, slurm_table
from scratchflow.cli.options import DRY_RUN, ListingGroup, VerbCommand, caller
from scratchflow.cli.questions import TerminalAsker, agreed
from scratchflow.cli.remote_call import on_host, on_login
from scratchflow.cli.restore_call import restored_code
from scratchflow.cli.submit import shown_submitted
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.requests import (
    CompareJobs,
    JobOutputs,
    ListJobs,
    OneJob,
    PruneJobs,
    RerunJob,
    Restore,
)
from scratchflow.model.results.jobs import (
    DebugReady,
    JobInspected,
    JobsCompared,
    JobsListed,
    JobsPruned,
    OutputsShown,
    Submitted,
)
from scratchflow.model.results.restore import Restored
from scratchflow.model.source import on_laptop
from scratchflow.model.text import printable
from scratchflow.model.units import Duration

JOB = typer.Argument(
    metavar="JOB", help="Slurm's number, `41_3` for a task, the id's end, a name, or `last`."
)

T = TypeVar("T", JobInspected, JobsCompared)


class JobsGroup(ListingGroup):
    """`jobs` alone lists them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """`jobs logs 20` and `jobs 20`: what does that."""
        from scratchflow.cli.other_words import OTHER_WORDS_OF_JOBS

        word = args[0]
        meant = OTHER_WORDS_OF_JOBS.get(word, "jobs show" if word[:1].isdigit() else "")
        if meant and word not in self.commands:
            named = [one for one in [word, *args[1:]] if one[:1].isdigit() or one == "last"]
            right = f"scratchflow {meant} {printable(named[0] if named else 'JOB')}"
            problem = f"no such command: {printable(word)}; did you mean `{right}`?"
            raise UsageInvalid(problem=problem, command=ctx.command_path)
        return super().resolve_command(ctx, args)


app = typer.Typer(cls=JobsGroup, rich_markup_mode=None, add_completion=False)


@app.callback()
def jobs() -> None:
    """Show the jobs submitted from this workspace, and do things with them.

    Ended ones stay listed; what is known of them lies in `jobs/` of the store.
    """


@app.command("list", cls=VerbCommand)
def list_jobs(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Also those that ended long ago.")] = False,
    state: Annotated[
        str, typer.Option("--state", metavar="STATE", help="Only these, like `failed`.")
    ] = "",
    tag: Annotated[
        str, typer.Option("--tag", metavar="TAG", help="Only those with this tag.")
    ] = "",
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="Only those of the last `2d`.")
    ] = "",
) -> Call[JobsListed]:
    """List what is queued, running and done, oldest first. `jobs` alone does the same."""
    since_s = clock.time() - _seconds(since, context) if since else 0.0
    request = ListJobs(every=every, state=state, tag=tag, since_s=since_s)
    return on_login(caller(context), "jobs", request, listed)


def _seconds(text: str, context: typer.Context) -> int:
    try:
        return Duration.parse(text).seconds
    except ValueError as error:
        problem = f"`--since` takes {error}, not `{printable(text)}`"
        raise UsageInvalid(problem=problem, command=context.command_path) from None


@app.command(cls=VerbCommand)
def show(context: typer.Context, job: Annotated[str, JOB]) -> Call[JobInspected]:
    """Show one job: what was asked for, how it ended and why, what was collected."""
    return _with_text(on_login(caller(context), "jobs show", OneJob(wanted=job), _shown))


def _with_text(call: Call[T]) -> Call[T]:
    """With what people read in its result: an editor shows the same."""

    def flow(emit: Emit) -> T:
        found = call.flow(emit)
        return msgspec.structs.replace(found, text="\n".join(call.show(found)))

    return Call(call.op, flow, call.show)


def _shown(found: JobInspected) -> Iterator[str]:
    yield from details(found.job, found.task)


@app.command(cls=VerbCommand)
def outputs(
    context: typer.Context,
    job: Annotated[str, LAST_JOB] = LAST,
    task: Annotated[
        list[int] | None, typer.Option("--task", metavar="N", help="Only this task; repeatable.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="DIR",
            help="Put them into this directory of the node; `laptop:DIR` is on this machine.",
        ),
    ] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[OutputsShown]:
    """List what a job has made, or bring it to this machine.

    That is what was saved of `outputs/` and `--collect` so far. `--to DIR` makes `DIR/job-41/` with the files in
    it, of an array in a directory for each task. A file that is there already and differs is never replaced.
    """
    here = on_laptop(to) if to is not None else None
    if here == "":
        problem = "`laptop:` needs a directory, like `laptop:.`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = JobOutputs(wanted=job, tasks=tuple(task or ()))
    who = caller(context)

    def flow(emit: Emit) -> OutputsShown:
        from scratchflow.flows.jobs.outputs import outputs as outputs_of

        there = to if here is None else None
        return outputs_of(who, emit, request, to=there, here=here, dry_run=dry_run)

    return Call("jobs outputs", flow, outputs_in_words)


@app.command(cls=ResourceCommand)
def rerun(
    context: typer.Context,
    job: Annotated[str, JOB],
    failed: Annotated[
        bool, typer.Option("--failed", help="Only tasks that did not end well.")
    ] = False,
    current: Annotated[
        bool, typer.Option("--current", help="From the workspace as it is now: with mended code.")
    ] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Submitted]:
    """Submit a job again: the same snapshot, command and parameters, with its own record.

    It asks Slurm for what that job asked for; flags change it. The environment is the profile's as it is now.
    """
    slurm = slurm_table(resource_flags(context))
    request = RerunJob(wanted=job, failed=failed, slurm=slurm, dry_run=dry_run)
    who = caller(context)

    def flow(emit: Emit) -> Submitted:
        from scratchflow.flows.jobs import submit

        return (submit.rerun_current if current else submit.rerun)(who, emit, request)

    return Call("jobs rerun", flow, shown_submitted if current else _shown_again)


def _shown_again(done: Submitted) -> Iterator[str]:
    yield from shown_submitted(done, from_what="the same snapshot")


@app.command(cls=VerbCommand)
def diff(
    context: typer.Context,
    first: Annotated[str, typer.Argument(metavar="JOB", help="A job or a task.")],
    second: Annotated[str, typer.Argument(metavar="JOB", help="Another one.")],
) -> Call[JobsCompared]:
    """Show what differs between two jobs: snapshot, commit, command, parameters, resources, outcome."""
    request = CompareJobs(first=first, second=second)
    return _with_text(on_login(caller(context), "jobs diff", request, _compared))


def _compared(found: JobsCompared) -> Iterator[str]:
    yield from differences(found.first, found.second, found.differences)


@app.command(cls=VerbCommand)
def debug(context: typer.Context, job: Annotated[str, JOB]) -> Call[DebugReady]:
    """Try a failed task again, by hand, on the node that you hold.

    The files that it ran from are put beside the workspace, and a shell opens there with its parameters and
    environment; the key ↑ brings its command. Of a job with several tasks, `41` means the first failed one.
    The copy stays as you leave it until you remove it; no backup saves it. Without a terminal it is only made,
    and how to run the command is told.
    """
    who = caller(context)

    def flow(emit: Emit) -> DebugReady:
        from scratchflow.flows.jobs.debug import debug as debug_job

        asker = TerminalAsker(emit, may_ask=who.may_ask, yes=False)
        return debug_job(who, emit, job, opens_shell=asker.can_ask)

    return announced("looking for the job", Call("jobs debug", flow, _debugged))


def _debugged(ready: DebugReady) -> Iterator[str]:
    directory = f"`{printable(ready.directory)}`{on_host(ready.host)}"
    if ready.code is not None:
        # Not the directory that the command starts in: that may lie further down.
        copy = os.path.dirname(os.path.dirname(ready.script))
        yield f"`{printable(copy)}`{on_host(ready.host)} stays as you left it; `rm -r` removes it"
        return
    yield f"task {ready.task} of the job is in {directory}; no backup saves it"
    yield f"`scratchflow run -- {printable(ready.script)}` runs its command: {printable(ready.command)}"


@app.command(cls=VerbCommand)
def prune(
    context: typer.Context,
    jobs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[JOB]...", help="These, however old.", show_default=False),
    ] = None,
    outputs: Annotated[
        bool, typer.Option("--outputs", help="Also jobs that made something, with what they made.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without asking.")] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[JobsPruned]:
    """Remove records and logs of jobs that ended long ago.

    Long ago is before `backup.keep_jobs`. What would go is shown, and asked for. Jobs that made
    something stay unless `--outputs` is given, and so do those that have not ended. One of which
    something may still be on a node goes only when it is named, with `--outputs`; the next job on
    that node then removes what is there. A snapshot that only removed jobs ran from stays or goes by the rules of
    `snapshots prune`.
    """
    who = caller(context)
    request = PruneJobs(wanted=tuple(jobs or ()), outputs=outputs, dry_run=dry_run)

    def flow(emit: Emit) -> JobsPruned:
        from scratchflow.flows.jobs.prune import prune as prune_jobs

        asker = TerminalAsker(emit, may_ask=who.may_ask, yes=yes)

        def agrees(found: JobsPruned) -> bool:
            if asker.can_ask:
                asker.tell(removal_in_words(found))
            return agreed(asker, "Sure?")

        return prune_jobs(who, emit, request, agrees)

    return Call("jobs prune", flow, pruned)


@app.command(cls=VerbCommand)
def code(
    context: typer.Context,
    job: Annotated[str, JOB],
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="DIR", help="To this directory; `laptop:DIR` is on this machine."
        ),
    ] = None,
    paths: Annotated[
        list[str] | None, typer.Option("--path", metavar="PATH", help="Only this path; repeatable.")
    ] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Restored]:
    """Bring back the files that a job ran from: to a directory, or into the workspace.

    The same as `restore --from-job`. Into the workspace it is a restore: what no snapshot holds yet is saved first.
    """
    here = on_laptop(to) if to is not None else None
    request = Restore(paths=tuple(paths or ()), to=to if here is None else None, dry_run=dry_run)
    return restored_code(caller(context), "jobs code", job, request, here)
