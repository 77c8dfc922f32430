"""`scratchflow profiles`: the clusters you have."""

import os
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.config import saved_line
from scratchflow.cli.options import DRY_RUN, ListingGroup, VerbCommand, asked, caller
from scratchflow.cli.questions import TerminalAsker, agreed
from scratchflow.cli.tables import aligned
from scratchflow.config.settings import checked_overrides
from scratchflow.model.ages import overrides_are_saved, time_left
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results.config import (
    ProfileRemoved,
    ProfileRow,
    ProfilesListed,
    ProfileWritten,
)
from scratchflow.model.text import printable
from scratchflow.model.time_limit import time_limit_s
from scratchflow.model.wrap import Whole
from scratchflow.report.output import terminal_width


class ProfilesGroup(ListingGroup):
    """`profiles` alone lists them."""

    def other_word(self, name: str, _rest: Sequence[str]) -> str | None:
        """The command that does what this word says elsewhere."""
        from scratchflow.cli.other_words import OTHER_WORDS_OF_PROFILES

        return OTHER_WORDS_OF_PROFILES.get(name)


app = typer.Typer(
    cls=ProfilesGroup,
    rich_markup_mode=None,
    add_completion=False,
    help="List, choose, add and remove profiles: the clusters you have.",
)

PROFILE = typer.Argument(metavar="PROFILE", help="The profile's name.")
NEW = typer.Argument(metavar="NAME", help="The new profile's name.")


@app.command("list", cls=VerbCommand)
def list_profiles(context: typer.Context) -> Call[ProfilesListed]:
    """List the profiles; `*` marks the one in use. `profiles` alone does the same."""
    wanted = asked(context)

    def run(_: Emit) -> ProfilesListed:
        from scratchflow.flows import profiles as flow

        return flow.list_profiles(wanted, os.environ)

    return Call("profiles list", run, _listed)


@app.command("use", cls=VerbCommand)
def use(
    context: typer.Context,
    which: Annotated[str, PROFILE],
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[ProfileWritten]:
    """Make a profile the default: commands without `--profile` use it."""
    wanted = asked(context)

    def run(_: Emit) -> ProfileWritten:
        from scratchflow.flows import profiles as flow

        return flow.use(wanted, os.environ, which, dry_run=dry_run)

    return Call("profiles use", run, _used)


@app.command("add", cls=VerbCommand)
def add(
    context: typer.Context,
    name: Annotated[str, NEW],
    login: Annotated[
        str,
        typer.Option("--login", metavar="HOST", help="The login host; `local` for this machine."),
    ] = "",
    store: Annotated[
        str, typer.Option("--store", metavar="PATH", help="Where snapshots go, on the cluster.")
    ] = "",
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[ProfileWritten]:
    """Add a profile by hand, without a look at the cluster; `setup` does more.

    What `--set` says becomes part of it. It gets an alias and a workspace of its own where another
    profile has them.
    """
    wanted = asked(context)
    values = {"login": login, "store": store, **checked_overrides(wanted.overrides)}
    if not values["login"] and values.get("scheduler") != "none":
        problem = "which login host? `--login HOST` is missing"
        raise UsageInvalid(problem=problem, command=context.command_path)

    def run(emit: Emit) -> ProfileWritten:
        from scratchflow.flows import profiles as flow

        added = flow.add(wanted, os.environ, emit, name, values, dry_run=dry_run)
        overrides_are_saved()
        return added

    return Call("profiles add", run, _written)


@app.command("copy", cls=VerbCommand)
def copy(
    context: typer.Context,
    which: Annotated[str, PROFILE],
    name: Annotated[str, NEW],
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[ProfileWritten]:
    """Copy a profile's settings to a new one, with an alias and a workspace of its own.

    What `--set` says differs in the copy.
    """
    wanted = asked(context)
    values = checked_overrides(wanted.overrides)

    def run(emit: Emit) -> ProfileWritten:
        from scratchflow.flows import profiles as flow

        copied = flow.copy(wanted, os.environ, emit, which, name, values, dry_run=dry_run)
        overrides_are_saved()
        return copied

    return Call("profiles copy", run, _written)


@app.command("remove", cls=VerbCommand)
def remove(
    context: typer.Context,
    which: Annotated[str, PROFILE],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove it without asking.")] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[ProfileRemoved]:
    """Remove a profile from the configuration file, with its ssh alias, and say what stays on disks.

    Refused while it holds a node. Snapshots, workspaces and the cluster's files are not touched.
    An alias that another profile uses stays.
    """
    who = caller(context)

    def run(emit: Emit) -> ProfileRemoved:
        from scratchflow.flows import profiles as flow

        asker = TerminalAsker(emit, may_ask=who.may_ask, yes=yes)

        def confirm(diff: str) -> bool:
            if asker.can_ask:
                asker.tell([*map(printable, diff.splitlines()), ""])
            return agreed(
                asker, f"Remove profile `{printable(which)}`? Its snapshots and workspaces stay."
            )

        return flow.remove(who, emit, which, confirm, dry_run=dry_run)

    return Call("profiles remove", run, _removed)


_HEADER = ["  profile", "login", "partition", "time", "node", "store"]


def _listed(shown: ProfilesListed) -> Iterator[str]:
    """The node is the one that the alias leads to: to look it up takes no network."""
    rows = [_HEADER, *map(_row, shown.profiles)]
    # A name is what one types next; `config show` has the whole store.
    yield from aligned(rows, width=terminal_width(), gives_way=(_HEADER.index("store"), 0))
    if any(row.built_in for row in shown.profiles):
        yield "`local` is built in: this machine, no cluster"
    if any(row.node for row in shown.profiles):
        yield "node: where the ssh alias leads; `scratchflow status` asks the cluster"


def _row(row: ProfileRow) -> list[str]:
    name = f"{'*' if row.is_used else ' '} {row.name}"
    limit_s = time_limit_s(row.time)
    limit = time_left(limit_s) if limit_s else row.time
    store = row.store.replace(os.path.expanduser("~"), "~", 1) if row.built_in else row.store
    rest = [row.login, row.partition, limit, row.node or "-", store]
    return [name, *(printable(text) or "-" for text in rest)]


def _used(written: ProfileWritten) -> Iterator[str]:
    if written.dry_run:
        yield Whole(written.diff)
    elif written.changed:
        yield f"commands use profile `{written.profile}` from now on"
        yield saved_line(written.path)
    else:
        yield f"profile `{written.profile}` is the default already"


def _written(written: ProfileWritten) -> Iterator[str]:
    yield Whole(written.diff)
    if not written.dry_run:
        yield saved_line(written.path)
        if written.new_workspace:
            yield printable(
                f"its workspace `{written.new_workspace}` is empty at first;"
                f" `scratchflow -p {written.profile} create --from laptop:DIR` fills it"
            )
        yield f"Next: scratchflow -p {written.profile} up"


def _removed(removed: ProfileRemoved) -> Iterator[str]:
    if removed.dry_run:
        yield Whole(removed.diff)
    else:
        yield f"profile `{removed.profile}` is removed"
    if removed.alias:
        would = "would remove" if removed.dry_run else "removed"
        yield f"{would} the ssh alias `{printable(removed.alias)}`"
    for stays in removed.stays:
        yield f"stays: {printable(stays)}"
    if removed.file_removed:
        yield f"✓ removed `{printable(removed.path)}`, in which nothing was left"
    elif not removed.dry_run:
        yield saved_line(removed.path)
