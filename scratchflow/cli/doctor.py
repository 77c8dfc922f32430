"""`scratchflow doctor`: check every link of the chain."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.model.events import Emit
from scratchflow.model.results import Check, ChecksDone
from scratchflow.model.text import printable

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def doctor(
    context: typer.Context,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Mend the alias, the auto-backup and the tmux session first."),
    ] = False,
) -> Call[ChecksDone]:
    """Check every link: configuration, login host, agent, Slurm, tmux, alias, node, scratch, store.

    `--fix` mends only what is safe: it deletes nothing, changes no setting and asks Slurm for nothing.
    """
    who = caller(context)

    def run(emit: Emit) -> ChecksDone:
        from scratchflow.flows.doctor import doctor as flow

        return flow(who, emit, fix=fix)

    return Call("doctor", run, _shown)


def _shown(done: ChecksDone) -> Iterator[str]:
    yield from map(check_line, done.checks)
    amiss = sum(not check.ok for check in done.checks)
    yield "all is well" if not amiss else f"{amiss} of {len(done.checks)} need attention"


def check_line(check: Check) -> str:
    """One check as a line."""
    mark = "ok " if check.ok else "NOT"
    fix = f"; {printable(check.fix)}" if check.fix else ""
    return f"{mark} {check.name}: {printable(check.detail)}{fix}"
