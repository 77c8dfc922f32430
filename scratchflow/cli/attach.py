"""`scratchflow attach`: our tmux session in this terminal."""

import sys
from collections.abc import Iterator

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.model.events import Emit
from scratchflow.model.results.run import Attached
from scratchflow.model.text import printable
from scratchflow.model.wrap import Whole

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def attach(context: typer.Context) -> Call[Attached]:
    """Show our tmux session in this terminal: a shell on the node, in the workspace.

    Leave it with `exit`, or with tmux's own `Ctrl-b d`, which keeps the shell and what runs in it; that is
    also the way out of the window of a `run --detach` that has ended. The node
    stays ours; only with `hold = "tmux"` does `exit` give it back. With `--json`, or without a terminal,
    the command is printed instead of run.
    """
    who = caller(context)

    def run(emit: Emit) -> Attached:
        from scratchflow.flows.attach import attach as flow

        return flow(who, emit, run=who.may_ask and sys.stdin.isatty() and sys.stdout.isatty())

    return Call("attach", run, _shown)


def _shown(attached: Attached) -> Iterator[str]:
    import shlex

    if not attached.ran:
        yield Whole(printable(shlex.join(attached.command)))
