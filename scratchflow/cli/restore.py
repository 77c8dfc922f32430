"""`scratchflow restore`: bring the workspace, or a part of it, back."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.naming import LATEST, SNAPSHOT, zone_for
from scratchflow.cli.options import DRY_RUN, VerbCommand, caller
from scratchflow.cli.remote_call import at_workspace, on_host, on_the_others
from scratchflow.model.ages import named, shown_id
from scratchflow.model.errors import EndedBySignal, UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.requests import EVERY_NODE, Restore
from scratchflow.model.results import Restored
from scratchflow.model.source import on_laptop
from scratchflow.model.text import counted, printable
from scratchflow.model.units import format_size, format_took
from scratchflow.process.interrupted import Interrupted

_CUT_SHORT = (
    "If files were written already, the workspace is half of two states: `scratchflow restore` finishes it,"
    " `scratchflow restore --abandon` leaves it as it is."
)

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def restore(
    context: typer.Context,
    snapshot: Annotated[str, SNAPSHOT] = LATEST,
    paths: Annotated[
        list[str] | None,
        typer.Option(
            "--path",
            metavar="PATH",
            help="Only this path or glob of the workspace, like `src/main.py`; may be repeated.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="DIR",
            help="Into this directory of the node instead (`~` is your home there), or `laptop:DIR` of this machine. "
            "PATH keeps its name in it: `results` becomes `DIR/results`.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="From this `.tar.lz4` instead of the store."),
    ] = None,
    from_job: Annotated[
        str,
        typer.Option(
            "--from-job", metavar="JOB", help="The files that this submitted job ran from."
        ),
    ] = "",
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Move an unknown workspace aside instead of refusing; with `--to`, files that differ.",
        ),
    ] = False,
    abandon: Annotated[
        bool,
        typer.Option(
            "--abandon", help="Give up an unfinished restore: save what is there, and leave it."
        ),
    ] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Restored]:
    """Bring the workspace back from a snapshot; onto all nodes, if the allocation has several.

    Into an empty place everything is restored. A workspace that came from a snapshot gets only
    the difference, after a safety snapshot of whatever no snapshot holds yet. What could not be
    saved is not replaced: it stays as `NAME.before-ID`, or the restore refuses.

    `--to laptop:DIR` takes files home, to the machine that you type on; it needs no node. Paths are kept,
    as by `git` and `rsync -R`: `--path results --to laptop:~` makes `~/results`, and `results/a.csv`
    becomes `DIR/results/a.csv`. What an earlier take-home put there and nobody changed is
    brought up to date; a file that differs is named, and nothing is changed.

    Without scratchflow: HOW-TO-RESTORE.txt in the store says how.
    """
    if abandon and (snapshot != LATEST or paths or to or source or from_job or replace):
        problem = "`--abandon` takes no snapshot, and no option but `--dry-run`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    if source is not None and snapshot != LATEST:
        problem = "a snapshot's id and `--from` exclude each other"
        raise UsageInvalid(problem=problem, command=context.command_path)
    if from_job and (snapshot != LATEST or source is not None):
        problem = (
            "`--from-job` excludes a snapshot's id and `--from`: it means the job's own snapshot"
        )
        raise UsageInvalid(problem=problem, command=context.command_path)

    here = on_laptop(to) if to is not None else None
    if here is not None:
        _check_taken_home(here, context.command_path, source=source)
    if to is not None and replace and not paths:
        problem = "`--to` with `--replace` needs `--path`; `--path .` is the whole workspace"
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = Restore(
        snapshot=snapshot,
        paths=tuple(paths or ()),
        to=to if here is None else None,
        source=source,
        replace=replace,
        abandon=abandon,
        dry_run=dry_run,
        zone=zone_for(snapshot),
    )
    if from_job:
        return restored_code(context, "restore", from_job, request, here)
    if here is None:
        # A file, a directory of the node and a restore that was begun there are the first node's alone.
        is_everywhere = not (dry_run or to or source or abandon)
        node = EVERY_NODE if is_everywhere else ""
        call = at_workspace(context, "restore", request, shown_restored, node=node)
        return call if dry_run or to is not None else _telling_what_an_end_means(call)
    who = caller(context)

    def run(emit: Emit) -> Restored:
        from scratchflow.flows.take_home import restore_here

        return restore_here(who, request, here, emit)

    return Call("restore", run, shown_restored)


def restored_code(
    context: typer.Context, op: str, job: str, request: Restore, here: str | None
) -> Call[Restored]:
    """The files of a job; `here` is a directory of this machine."""
    who = caller(context)

    def run(emit: Emit) -> Restored:
        from scratchflow.flows.jobs.code import bring_code

        return bring_code(who, emit, job, request, here)

    call = Call(op, run, shown_restored)
    is_elsewhere = request.dry_run or here is not None or request.to is not None
    return call if is_elsewhere else _telling_what_an_end_means(call)


def _telling_what_an_end_means(call: Call[Restored]) -> Call[Restored]:
    """The same, with a word about the workspace when a signal ends it."""

    def run(emit: Emit) -> Restored:
        try:
            return call.flow(emit)
        except Interrupted as interrupted:
            raise EndedBySignal(interrupted.signum, _CUT_SHORT) from interrupted

    return Call(call.op, run, call.show)


def _check_taken_home(here: str, command: str, *, source: str | None) -> None:
    problem = ""
    if not here:
        problem = "`laptop:` needs a directory, like `laptop:~/results`"
    elif source is not None:
        problem = "`--to laptop:DIR` and `--from` exclude each other"
    if problem:
        raise UsageInvalid(problem=problem, command=command)


def shown_restored(restored: Restored) -> Iterator[str]:
    """What people read after a restore."""
    if restored.abandoned:
        yield from _shown_abandoned(restored)
        return
    for path in restored.moved_aside:
        yield f"what no snapshot holds was kept as `{printable(path)}`"
    if restored.safety_snapshot:
        what = "everything else that" if restored.moved_aside else "whatever"
        yield f"{what} was replaced or removed is in snapshot {shown_id(restored.safety_snapshot)}"
    target, where = printable(restored.place or restored.target), on_host(restored.host)
    if restored.mode == "nothing":
        yield f"`{target}`{where} equals snapshot {named(restored.snapshot)} already"
        yield from on_the_others(restored)
        return
    gone = f", {counted(restored.removed, 'path')} removed" if restored.removed else ""
    written = f"{counted(restored.written_files, 'file')} ({format_size(restored.written_bytes)})"
    if restored.dry_run:
        yield f"would write {written}{gone}, to `{target}`{where} from snapshot {named(restored.snapshot)}"
    else:
        took = format_took(restored.duration_s)
        source = named(restored.snapshot)
        yield f"`{target}`{where} from snapshot {source}: {written} written{gone}, in {took}"
    if restored.committed_as:
        yield f"it is the newest again, as snapshot {shown_id(restored.committed_as)}"
    yield from on_the_others(restored)


def _shown_abandoned(restored: Restored) -> Iterator[str]:
    target = printable(restored.target)
    if restored.dry_run:
        yield f"would save `{target}` as it is, and give up the restore of {named(restored.abandoned or '')}"
    elif restored.safety_snapshot:
        yield f"the restore of {named(restored.abandoned or '')} is given up; `{target}` stays as it is"
        yield f"what is there is in snapshot {shown_id(restored.safety_snapshot)}"
    else:
        yield f"the restore of {named(restored.abandoned or '')} is given up; nothing is at `{target}`"
