"""`scratchflow restore`: bring the workspace, or a part of it, back."""

import posixpath
from collections.abc import Sequence
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.naming import LATEST, zone_for
from scratchflow.cli.options import DRY_RUN, SNAPSHOT, VerbCommand, caller
from scratchflow.cli.restore_call import restore_call, restored_code, restored_from_mirror
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.requests import Restore
from scratchflow.model.results.restore import Restored
from scratchflow.model.source import on_laptop

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
    from_mirror: Annotated[
        bool,
        typer.Option("--from-mirror", help="A snapshot of `backup.mirror`: brings it back first."),
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Move an unknown workspace aside instead of refusing; with `--to`, files that differ.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="With `--replace`: move aside also what another profile works in.",
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
    saved is not replaced: it stays as `NAME.before-ID`, or the restore refuses. `--path` without a
    snapshot takes the newest that is no such safety snapshot.

    `--to laptop:DIR` takes files home, to the machine that you type on; it needs no node. Paths are kept,
    as by `git` and `rsync -R`: `--path results --to laptop:~` makes `~/results`, and `results/a.csv`
    becomes `DIR/results/a.csv`. What an earlier take-home put there and nobody changed is
    brought up to date; a file that differs is named, and nothing is changed.

    Without scratchflow: HOW-TO-RESTORE.txt in the store says how.
    """
    if abandon and (snapshot != LATEST or paths or to or source or from_job or replace):
        problem = "`--abandon` takes no snapshot, and no option but `--dry-run`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    if force and not replace:
        problem = "`--force` is for `--replace`: it moves aside also what another profile works in"
        raise UsageInvalid(problem=problem, command=context.command_path)
    if source is not None and snapshot != LATEST:
        problem = "a snapshot's id and `--from` exclude each other"
        raise UsageInvalid(problem=problem, command=context.command_path)
    if from_job and (snapshot != LATEST or source is not None):
        problem = (
            "`--from-job` excludes a snapshot's id and `--from`: it means the job's own snapshot"
        )
        raise UsageInvalid(problem=problem, command=context.command_path)

    if from_mirror and (source is not None or from_job or abandon or dry_run):
        problem = "`--from-mirror` excludes `--from`, `--from-job`, `--abandon` and `--dry-run`"
        raise UsageInvalid(problem=problem, command=context.command_path)

    here = on_laptop(to) if to is not None else None
    if here is not None:
        _check_taken_home(here, context.command_path, source=source)
    if to is not None and replace and not paths:
        problem = "`--to` with `--replace` needs `--path`; `--path .` is the whole workspace"
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = Restore(
        snapshot=snapshot,
        paths=_checked(paths or (), context.command_path),
        to=to if here is None else None,
        source=source,
        replace=replace,
        force=force,
        abandon=abandon,
        dry_run=dry_run,
        zone=zone_for(snapshot),
    )
    if from_job:
        return restored_code(caller(context), "restore", from_job, request, here)
    if from_mirror:
        return restored_from_mirror(caller(context), request, here)
    return restore_call(caller(context), request, here)


def _checked(paths: Sequence[str], command: str) -> tuple[str, ...]:
    # `"$DIR/."` too: what begins with a slash is meant as a whole path.
    if not all(path.strip() and posixpath.normpath(path.strip()).strip("/") for path in paths):
        problem = "`--path` is empty, or only `/`: a variable that is not set? `--path .` is the whole workspace"
        raise UsageInvalid(problem=problem, command=command)
    return tuple(paths)


def _check_taken_home(here: str, command: str, *, source: str | None) -> None:
    problem = ""
    if not here:
        problem = "`laptop:` needs a directory, like `laptop:~/results`"
    elif source is not None:
        problem = "`--to laptop:DIR` and `--from` exclude each other"
    if problem:
        raise UsageInvalid(problem=problem, command=command)
