"""`scratchflow open`: the editor on the workspace."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.cli.up_call import editor_lines
from scratchflow.model.events import Emit
from scratchflow.model.results.up import EditorOpened

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def open_workspace(
    context: typer.Context,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print the command and a link instead.")
    ] = False,
) -> Call[EditorOpened]:
    """Open VS Code on the node, at the workspace."""
    who = caller(context)

    def run(emit: Emit) -> EditorOpened:
        from scratchflow.flows.open import open_workspace as flow

        return flow(who, emit, run=not only_print)

    return Call("open", run, _shown)


def _shown(opened: EditorOpened) -> Iterator[str]:
    if not opened.opened:
        yield from editor_lines(opened.command, opened.link)
