"""`scratchflow setup`: a cluster, ready to use from this machine."""

import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, asked, may_ask
from scratchflow.model.errors import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results import ClusterSetUp, SetupRemoved
from scratchflow.model.text import printable
from scratchflow.report.question import question_open

if TYPE_CHECKING:
    from scratchflow.flows.setup import Confirm

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def setup(
    context: typer.Context,
    login: Annotated[
        str, typer.Argument(metavar="[LOGIN]", help="The login host, as `ssh` knows it.")
    ] = "",
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The profile's name.", show_default=False)
    ] = "",
    store: Annotated[
        str, typer.Option("--store", metavar="PATH", help="Where snapshots go, on the cluster.")
    ] = "",
    scratch: Annotated[
        str, typer.Option("--scratch", metavar="PATH", help="The nodes' own disk.")
    ] = "",
    partition: Annotated[
        str, typer.Option("--partition", metavar="NAME", help="Slurm's partition to ask for.")
    ] = "",
    time: Annotated[
        str, typer.Option("--time", metavar="TIME", help="How long to ask for, as Slurm writes it.")
    ] = "",
    remove: Annotated[
        bool,
        typer.Option(
            "--remove", help="Undo it: ssh config, ssh files, agent. What other profiles use stays."
        ),
    ] = False,
    all_profiles: Annotated[
        bool, typer.Option("--all", help="With --remove: also what other profiles use.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Make the changes without asking.")
    ] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Any]:
    """Set up a cluster: reach it, put the agent there, write the profile and the ssh alias.

    Run it again at any time. Your ssh config gets three marked lines at its top; `--remove` gives
    it back byte for byte. What `--set` says becomes part of the profile.
    """
    wanted, asking = asked(context), may_ask(context)
    if remove:
        return _remove(wanted, dry_run, all_profiles, yes=yes, asking=asking)
    if not login:
        raise UsageInvalid(
            problem="which login host? `LOGIN` is missing", command=context.command_path
        )
    values = {
        "store": store,
        "scratch": scratch,
        "slurm.partition": partition,
        "slurm.time": time,
    }

    def run(emit: Emit) -> ClusterSetUp:
        from scratchflow.config.settings import checked_overrides
        from scratchflow.flows.setup import SetupOptions, set_up

        given = {**values, **checked_overrides(wanted.overrides)}
        options = SetupOptions(login, name or wanted.profile or _name_of(login), given, dry_run)
        confirm = _confirm(emit, yes=yes, may_ask=asking)
        return set_up(wanted, os.environ, emit, options, confirm, may_ask=asking)

    return Call("setup", run, _shown)


def _remove(
    wanted: Any, dry_run: bool, all_profiles: bool, *, yes: bool, asking: bool
) -> Call[SetupRemoved]:
    def run(emit: Emit) -> SetupRemoved:
        from scratchflow.flows.setup_remove import RemoveOptions, remove

        options = RemoveOptions(dry_run=dry_run, all_profiles=all_profiles)
        confirm = _confirm(emit, yes=yes, may_ask=asking)
        return remove(wanted, os.environ, emit, confirm, options, may_ask=asking)

    return Call("setup remove", run, _removed)


def _confirm(emit: Emit, *, yes: bool, may_ask: bool) -> "Confirm":
    def confirm(diff: str, what: str) -> bool:
        if yes:
            return True
        if not may_ask or not sys.stdin.isatty():
            return False
        with question_open(emit):
            sys.stderr.write(f"{diff}\n\n")
            return typer.confirm(f"Make {what}?", err=True)

    return confirm


def _name_of(login: str) -> str:
    """`user@login1.cluster.example` as a profile's name: `login1`."""
    host = login.rpartition("@")[2]
    return re.sub(r"[^A-Za-z0-9_-]", "-", host.partition(".")[0])


def _shown(done: ClusterSetUp) -> Iterator[str]:
    if done.dry_run:
        yield f"would set up `{printable(done.login)}` as profile `{done.profile}`"
        yield from filter(None, [done.config_diff, done.ssh_config_diff])
        return
    yield f"profile `{done.profile}`: `{printable(done.login)}` by {printable(done.reached_by)}"
    yield f"agent at `{printable(done.agent)}` with `{printable(done.python)}`"
    from scratchflow.cli.doctor import check_line

    yield from map(check_line, done.checks)


def _removed(done: SetupRemoved) -> Iterator[str]:
    for kept in done.kept:
        yield f"stays: {printable(kept)}"
    if done.dry_run:
        yield done.ssh_config_diff or "no change to the ssh config"
        return
    if not any("ssh config" in kept for kept in done.kept):
        yield "your ssh config is as it was"
    if done.agent_removed:
        yield "the agent is gone from the login host"
    elif done.kept:
        yield "`scratchflow setup --remove --all` removes that too, once no node is held"
