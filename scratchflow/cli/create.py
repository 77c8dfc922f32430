"""`scratchflow create`: make the workspace and take its first snapshot."""

import os
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Annotated

import typer

from scratchflow.cli.bare_words import on_this_machine, quoted
from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, caller
from scratchflow.cli.packages import Requirements, package_words, read_requirements
from scratchflow.cli.remote_call import at_workspace, on_host
from scratchflow.model.ages import shown_id
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.workspace import SourceUnusable
from scratchflow.model.events import Emit
from scratchflow.model.requests import Create
from scratchflow.model.results.create import WorkspaceCreated
from scratchflow.model.source import LAPTOP, is_git_url, on_laptop, without_password
from scratchflow.model.text import counted, printable
from scratchflow.model.units import format_size
from scratchflow.model.wrap import Whole

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Env(str, Enum):
    """What kind of environment to make beside the workspace."""

    none = "none"
    venv = "venv"
    conda = "conda"


@app.command(cls=VerbCommand)
def create(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SOURCE",
            help="Fill it from `DIR`, which the node sees, from `laptop:DIR` or from a git URL.",
        ),
    ] = None,
    tracked: Annotated[
        bool,
        typer.Option(
            "--tracked", help="Of DIR only the files that git tracks, and its `.git` directory."
        ),
    ] = False,
    env: Annotated[
        Env, typer.Option("--env", help="Make an environment beside it, at `$scratch/env`.")
    ] = Env.none,
    python: Annotated[
        str, typer.Option("--python", metavar="VERSION", help="Its Python, like `3.11`.")
    ] = "",
    packages: Annotated[
        list[str] | None,
        typer.Option(
            "--packages",
            metavar="NAME",
            help="A package in it, or options of the tool, like `-c pytorch`; may be repeated.",
        ),
    ] = None,
    requirements: Annotated[
        str,
        typer.Option(
            "--requirements",
            metavar="FILE",
            help="The packages in it: `requirements.txt`, `environment.yml`, `uv.lock`, …",
        ),
    ] = "",
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[WorkspaceCreated]:
    """Make the workspace and take its first snapshot.

    A workspace that exists is taken as it is. One that has snapshots already is to be restored. An
    environment is made with uv or venv, or with micromamba, mamba or conda, whichever the node has, after the
    profile's `environment.modules` and `after_modules`, and with its `variables`. `--requirements` takes a file of
    this machine: a list for pip or conda, an `environment.yml` (for `--env conda`), or a `pyproject.toml` or `uv.lock`, which
    uv reads with the other one beside it (for `--env venv`; your own project is not installed).

    `--from` fills a new or empty workspace, and writes over nothing (exit code 35). `laptop:DIR` is a
    directory of the machine that you type on. What `backup.exclude`, a `.scratchignore` in DIR or a
    CACHEDIR.TAG excludes stays behind. What DIR holds goes into the workspace itself: `DIR/a` becomes `work/a`. `--tracked` brings files as they are now, uncommitted changes included,
    and no untracked ones. A git URL is cloned on the node, with the keys and credentials that your account has
    there; your laptop's ssh agent is not used.
    """
    is_given, source = source is not None, source or ""
    _check_source(source, context.command_path, is_given=is_given, tracked=tracked)
    if env is Env.none and (python or packages or requirements):
        problem = "`--python`, `--packages` and `--requirements` need `--env venv` or `--env conda`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    if python.startswith("-") or "\n" in python:
        problem = f"`{python}` is not a version"
        raise UsageInvalid(problem=problem, command=context.command_path)
    files = Requirements()
    if requirements:
        files = read_requirements(requirements, env.value, python, context.command_path)
    url = source if is_git_url(source) else ""
    here = on_laptop(source)
    request = Create(
        directory=source if source and not url and here is None else None,
        url=url,
        tracked=tracked,
        named=without_password(source),
        env=env.value,
        python=python,
        packages=package_words(packages or (), context.command_path),
        requirements=files.content,
        requirements_kind=files.kind,
        lock=files.lock,
        dry_run=dry_run,
    )
    who = caller(context)
    if here is None:
        call = at_workspace(who, "create", request, _shown)
        way = partial(_with_way_from_here, call.flow, source, tracked=tracked)
        return Call("create", way, _shown)

    def run(emit: Emit) -> WorkspaceCreated:
        from scratchflow.flows.transfer.bring import create_from_here

        return create_from_here(who, request, here, emit)

    return Call("create", run, _shown)


def _with_way_from_here(
    flow: Callable[[Emit], WorkspaceCreated], source: str, emit: Emit, *, tracked: bool
) -> WorkspaceCreated:
    """A directory that only this machine has is what people mean: then the error says how that one is brought."""
    try:
        return flow(emit)
    except SourceUnusable as error:
        before = error.shown_hint
        if "`laptop:DIR`" in before and os.path.isdir(os.path.expanduser(source)):
            named = quoted(on_this_machine(source, os.environ.get("HOME", "")))
            line = f"scratchflow create --from {named}{' --tracked' * tracked}"
            here = f"`{line}` brings the directory of this machine"
            error.rephrase(lambda text: here if text == before else text)
        raise


def _check_source(source: str, command: str, *, is_given: bool, tracked: bool) -> None:
    problem = ""
    if is_given and not source.strip():
        problem = "`--from` is empty"
    elif tracked and (not source or is_git_url(source)):
        problem = "`--tracked` needs `--from DIR` or `--from laptop:DIR`"
    elif source == LAPTOP:
        problem = "`laptop:` needs a directory, like `laptop:~/project`"
    elif "::" in source.partition("/")[0] or source.startswith("-") or "\0" in source:
        problem = f"`{source}` is neither a directory nor a git URL"
    if problem:
        raise UsageInvalid(problem=problem, command=command)


def _shown(created: WorkspaceCreated) -> Iterator[str]:
    env = f", environment `{created.env}`" if created.env else ""
    where = f"`{created.path}`{on_host(created.host)}"
    filled = _filled(created)
    if created.dry_run:
        yield f"would make {where}{filled}{env}, and take a snapshot"
    else:
        yield f"workspace {where}{filled}{env}, snapshot {shown_id(created.snapshot or '')}"
    if created.left_out:
        first = ", ".join(f"`{path}`" for path in created.left_out_paths[:5])
        more = ", …" if created.left_out > min(5, len(created.left_out_paths)) else ""
        yield f"left out: {counted(created.left_out, 'path')} ({first}{more})"
    if created.source and not created.dry_run and not is_git_url(created.source):
        yield f"go on in the workspace: its backups do not look at `{created.source}`"
    if not created.dry_run:
        yield from _how_to_use(created)


def _how_to_use(created: WorkspaceCreated) -> Iterator[str]:
    """The environment: by everything, also on the next node, and by one shell."""
    if created.use_with:
        yield f"`{printable(created.use_with)}` makes `run`, `shell`, `serve` and jobs use the environment"
    if created.save_with:
        yield (
            f"`{printable(created.save_with)}` saves it with the workspace;"
            " until then no backup has it, and the next node is without it"
        )
    if created.activate:
        yield Whole(f"one shell uses it after: {printable(created.activate)}")


def _filled(created: WorkspaceCreated) -> str:
    if created.source is None:
        return ""
    size = ""
    if created.files is not None and created.bytes is not None:
        size = f": {counted(created.files, 'file')}, {format_size(created.bytes)}"
    return f" with the contents of `{created.source}`{size}"
