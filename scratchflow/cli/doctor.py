"""`scratchflow doctor`: check every link of the chain."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.model.events import Emit
from scratchflow.model.results.checks import ChecksDone
from scratchflow.model.text import counted
from scratchflow.report.checks import check_lines

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

    The exit code is 0 whatever it finds, as that of `status`; in `--json` each of `checks` has an `ok`.
    """
    who = caller(context)

    def run(emit: Emit) -> ChecksDone:
        from scratchflow.flows.doctor import doctor as flow

        return flow(who, emit, fix=fix)

    return Call("doctor", run, _shown)


def _shown(done: ChecksDone) -> Iterator[str]:
    for check in done.checks:
        yield from check_lines(check.name, check.detail, check.fix, ok=check.ok)
    failed = sum(not check.ok for check in done.checks)
    yield (
        f"{failed} of {counted(len(done.checks), 'check')} failed"
        if failed
        else "No problems found."
    )
