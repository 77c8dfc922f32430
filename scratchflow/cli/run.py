"""`scratchflow run`: a command on the node, in the workspace."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call, announced
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results.run import RunEnded
from scratchflow.model.text import printable

app = typer.Typer(rich_markup_mode=None, add_completion=False)

CWD = typer.Option(
    "--cwd", metavar="DIR", help="Start in this directory; from the workspace on, unless absolute."
)
UP = typer.Option("--up", help="Take a node first if there is none, as `up` does.")


@app.command(cls=VerbCommand)
def run(
    context: typer.Context,
    command: Annotated[
        list[str],
        typer.Argument(metavar="CMD", help="The command, with its own options."),
    ],
    cwd: Annotated[str, CWD] = "",
    pty: Annotated[bool, typer.Option("--pty", help="Give the command a terminal.")] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave it running in our tmux session.")
    ] = False,
    take_node: Annotated[bool, UP] = False,
    every_node: Annotated[
        bool,
        typer.Option("--all", help="On every node; each line begins with its node's name."),
    ] = False,
) -> Call[RunEnded]:
    """Run a command on the node, in the workspace, with the profile's environment.

    Its input, output and exit code are the command's own, byte for byte; a signal's code is 128
    and its number. Ctrl-C goes to the command, a second one is SIGTERM, a third one SIGKILL. No
    shell reads its words: `run -- sh -c '…'` asks for one.

    With `--all` it runs on every node at once, without input; the exit code is that of the first
    node, in their order, on which it failed.
    """
    who = caller(context)
    if not who.may_ask and not detach:
        problem = "`--json` would share stdout with the command's output; it goes with `--detach`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    if pty and detach:
        problem = "`--detach` has a terminal of its own: leave `--pty` out"
        raise UsageInvalid(problem=problem, command=context.command_path)
    if every_node and (pty or detach):
        problem = "`--all` goes with neither `--pty` nor `--detach`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    words = tuple(command)

    def flow(emit: Emit) -> RunEnded:
        from scratchflow.cli.quick_run import is_shell_line, shell_line_warning
        from scratchflow.flows.run.run import run as run_on_node
        from scratchflow.flows.run.start import Wanted

        wanted = Wanted(
            command=words,
            cwd=cwd,
            terminal=pty,
            detach=detach,
            take_node=take_node,
            every_node=every_node,
        )
        ended = run_on_node(who, emit, wanted)
        if is_shell_line(words, ended.code):
            emit(shell_line_warning(words[0]))
        return ended

    call = Call("run", flow, _shown)
    return announced("starting it on the node", call) if detach else call


def _shown(ended: RunEnded) -> Iterator[str]:
    if ended.window is not None:
        window, node = printable(ended.window.window), printable(ended.node)
        yield f"running on `{node}` in window `{window}`; `scratchflow attach` shows it"
