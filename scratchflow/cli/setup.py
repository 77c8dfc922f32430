"""`scratchflow setup`: a cluster, ready to use from this machine."""

import os
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, YES, VerbCommand, caller, may_ask
from scratchflow.cli.questions import TerminalAsker
from scratchflow.cli.tables import aligned
from scratchflow.cli.up_call import shown as up_shown
from scratchflow.model.ages import overrides_are_saved
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results.setup import (
    ClusterSetUp,
    HostsListed,
    LeftBehind,
    SetupRemoved,
    SitesListed,
)
from scratchflow.model.text import printable
from scratchflow.model.wrap import Whole
from scratchflow.report.output import terminal_width

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def setup(
    context: typer.Context,
    login: Annotated[
        str, typer.Argument(metavar="[LOGIN]", help="The login host, as you type it after `ssh`.")
    ] = "",
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The profile's name.", show_default=False)
    ] = "",
    store: Annotated[
        str,
        typer.Option(
            "--store", metavar="PATH", help="Where snapshots go: shared storage of the cluster."
        ),
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
    account: Annotated[
        str, typer.Option("--account", metavar="NAME", help="The account that jobs are charged to.")
    ] = "",
    site: Annotated[
        str,
        typer.Option(
            "--site",
            metavar="NAME",
            help="Propose what is known of this site; `generic`: nothing.",
            show_default=False,
        ),
    ] = "",
    list_sites: Annotated[
        bool, typer.Option("--list-sites", help="List the sites, and what persists where on each.")
    ] = False,
    list_hosts: Annotated[
        bool, typer.Option("--list-hosts", help="List your ssh config's hosts; or find LOGIN.")
    ] = False,
    default: Annotated[
        bool, typer.Option("--default", help="Make this the profile that is used without `-p`.")
    ] = False,
    key: Annotated[
        bool, typer.Option("--key", help="Make an ssh key if there is none, and send it there.")
    ] = False,
    go_on: Annotated[
        bool | None,
        typer.Option(
            "--up/--no-up",
            help="Go on with `up`, and take a node; or not. Without either it is asked.",
            show_default=False,
        ),
    ] = None,
    remove: Annotated[
        bool,
        typer.Option(
            "--remove", help="Undo it: ssh config, ssh files, agent. What other profiles use stays."
        ),
    ] = False,
    all_profiles: Annotated[
        bool, typer.Option("--all", help="With --remove: also what other profiles use.")
    ] = False,
    yes: Annotated[bool, YES] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Any]:
    """Set up a cluster: reach it, put the agent there, write the profile and the ssh alias.

    In a terminal it proposes every value with its reason and asks before it saves; at the end it
    asks whether to take a node now. Without LOGIN it sets up the profile that there is again, or
    lets you choose a host of your ssh config. `~` in a path means your home on the cluster. Your
    ssh config gets three marked lines at its top; `--remove` gives it back byte for byte. What
    `--set` says becomes part of the profile.
    """
    who = caller(context)
    if list_sites:
        from scratchflow.flows.setup.sites import list_sites as flow

        return Call("setup sites", lambda _: flow(), _sites)
    if list_hosts:
        from scratchflow.flows.setup.which import list_hosts as hosts

        return Call("setup --list-hosts", lambda _: hosts(login), _hosts)
    if remove:
        return _remove(context, login, dry_run, all_profiles, yes=yes)
    values = {
        "store": _on_cluster("--store", store),
        "scratch": _on_cluster("--scratch", scratch),
        "slurm.partition": partition,
        "slurm.time": time,
        "slurm.account": account,
    }

    def run(emit: Emit) -> ClusterSetUp:
        from scratchflow.config.settings import checked_overrides
        from scratchflow.flows.setup.draft import SetupOptions
        from scratchflow.flows.setup.go_on import go_on_working
        from scratchflow.flows.setup.which import set_up_chosen

        given = {key: value for key, value in values.items() if value}
        options = SetupOptions(
            login=login,
            name=name,
            values={**given, **checked_overrides(who.asked.overrides)},
            site=site,
            make_default=default,
            offer_key=key,
            dry_run=dry_run,
        )
        asker = TerminalAsker(emit, may_ask=who.may_ask, yes=yes)
        done = set_up_chosen(who, emit, options, asker)
        if not done.dry_run:
            overrides_are_saved()
        return go_on_working(who, emit, done, asker, wanted=go_on)

    return Call("setup", run, shown)


def _on_cluster(flag: str, path: str) -> str:
    """The path as the cluster will read it.

    A shell writes `~/store` out with this machine's home before we see it: what was meant is the
    cluster's.
    """
    home = os.environ.get("HOME", "").rstrip("/")
    if home and (path == home or path.startswith(f"{home}/")):
        path = f"~{path[len(home) :]}"
    if path:
        from scratchflow.model.profile import require_rooted

        try:
            require_rooted(flag, path)
        except ValueError as error:
            raise UsageInvalid(problem=str(error), command="scratchflow setup") from None
    return path


def _remove(
    context: typer.Context, login: str, dry_run: bool, all_profiles: bool, *, yes: bool
) -> Call[SetupRemoved]:
    who = caller(context)

    def run(emit: Emit) -> SetupRemoved:
        from scratchflow.flows.setup.removal.remove import RemoveOptions, remove

        options = RemoveOptions(login=login, dry_run=dry_run, all_profiles=all_profiles)
        asker = TerminalAsker(emit, may_ask=may_ask(context), yes=yes)
        return remove(who.asked, os.environ, emit, asker, options, may_ask=who.may_ask)

    return Call("setup remove", run, _removed)


def shown(done: ClusterSetUp) -> Iterator[str]:
    """What is left to say: the checks were told while they were made."""
    if done.dry_run:
        yield f"would set up `{printable(done.login)}` as profile `{done.profile}`"
        yield from map(Whole, filter(None, [done.config_diff, done.ssh_config_diff]))
        yield Whole(f"`scratchflow up` would then run: {printable(done.command)}")
        return
    yield from map(printable, done.shared)
    if done.up:
        yield from up_shown(done.up)
        return
    if done.is_default:
        yield "Next: scratchflow up"
        return
    yield (
        f"the default profile stays `{printable(done.default_profile)}`"
        if (done.default_profile)
        else "no profile is the default"
    )
    yield f"Next: scratchflow up -p {done.profile}"


def _hosts(listed: HostsListed) -> Iterator[str]:
    yield from map(printable, listed.hosts)


def _sites(listed: SitesListed) -> Iterator[str]:
    """The names to give to `--site`, then what lasts how long on each of them."""
    yield from aligned([[site.name, site.title] for site in listed.sites], width=terminal_width())
    for site in listed.sites:
        if site.storage:
            yield ""
            yield f"{site.name}: {site.summary}"
        for one in site.storage:
            saved = f"; backed up: {one.backed_up}" if one.backed_up else ""
            yield f"  {one.place}: {one.lasts}{saved}"
        yield from (f"  {remark}" for remark in site.remarks)


def _removed(done: SetupRemoved) -> Iterator[str]:
    for kept in done.kept:
        yield f"stays: {printable(kept)}"
    if done.dry_run:
        for what in done.removes:
            yield f"would remove: {printable(what)}"
        yield Whole(done.ssh_config_diff or "no change to the ssh config")
        return
    for what in done.removes:
        yield f"✓ removed {printable(what)}"
    if not done.removes:
        yield "nothing of ours was there to remove"
    if done.left:
        yield "Left, and how to remove it:"
    yield from _left(done.left)


def _left(left: Sequence[LeftBehind]) -> Iterator[str]:
    """What is removed in the same way has one line for that; of small things the commands say what they are."""
    end = max((place + 1 for place, one in enumerate(left) if one.is_small), default=0)
    yield from _in_full([one for one in left[:end] if not one.is_small])
    if small := [one for one in left if one.is_small]:
        yield "  notes and caches, with nothing of yours:"
        yield from (f"    {printable(one.how)}" for one in small)
    yield from _in_full(left[end:])


def _in_full(left: Sequence[LeftBehind]) -> Iterator[str]:
    by_how: dict[str, list[str]] = {}
    for one in left:
        by_how.setdefault(one.how, []).append(one.what)
    for how, whats in by_how.items():
        yield from (f"  {printable(what)}" for what in whats)
        yield f"    {printable(how)}"  # only its words are broken, not a command
