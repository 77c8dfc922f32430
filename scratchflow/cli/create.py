"""`scratchflow create`: make the workspace and take its first snapshot."""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand
from scratchflow.cli.remote_call import at_workspace
from scratchflow.model.ages import shown_id
from scratchflow.model.errors import FileFailed, UsageInvalid
from scratchflow.model.requests import Create
from scratchflow.model.results import WorkspaceCreated
from scratchflow.model.text import printable

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_MOST_BYTES = 256 * 1024


class Env(str, Enum):
    """What kind of environment to make beside the workspace."""

    none = "none"
    venv = "venv"
    conda = "conda"


@app.command(cls=VerbCommand)
def create(
    context: typer.Context,
    env: Annotated[
        Env, typer.Option("--env", help="Make an environment beside it, at `$scratch/env`.")
    ] = Env.none,
    python: Annotated[
        str, typer.Option("--python", metavar="VERSION", help="Its Python, like `3.11`.")
    ] = "",
    packages: Annotated[
        list[str] | None,
        typer.Option("--packages", metavar="NAME", help="A package in it; may be repeated."),
    ] = None,
    requirements: Annotated[
        str, typer.Option("--requirements", metavar="FILE", help="The packages in it, as a file.")
    ] = "",
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[WorkspaceCreated]:
    """Make the workspace and take its first snapshot.

    A workspace that exists is taken as it is. One that has snapshots already is to be restored. An
    environment is made with uv or venv, or with micromamba, mamba or conda, whichever the node has.
    """
    if env is Env.none and (python or packages or requirements):
        problem = "`--python`, `--packages` and `--requirements` need `--env venv` or `--env conda`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    for value in [python, *(packages or [])]:
        if value.startswith("-") or "\n" in value:
            problem = f"`{value}` is not a version or package"
            raise UsageInvalid(problem=problem, command=context.command_path)
    request = Create(
        env=env.value,
        python=python,
        packages=tuple(packages or ()),
        requirements=_content(requirements) if requirements else "",
        dry_run=dry_run,
    )
    return at_workspace(context, "create", request, _shown)


def _content(path: str) -> str:
    """The file is this machine's; its content travels."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise FileFailed(path=path, reason="it is too large for a list of packages")
        return content.decode("utf-8")
    except OSError as error:
        raise FileFailed(path=path, reason=error.strerror) from None
    except UnicodeDecodeError:
        raise FileFailed(path=path, reason="it is not text") from None


def _shown(created: WorkspaceCreated) -> Iterator[str]:
    env = f", environment `{created.env}`" if created.env else ""
    if created.dry_run:
        yield f"would make `{created.path}`{env}, and take a snapshot"
    else:
        yield f"workspace `{created.path}`{env}, snapshot {shown_id(created.snapshot or '')}"
    if created.activate:
        yield f"activate the environment with: {printable(created.activate)}"
