"""`scratchflow autobackup`: a snapshot every so often, on the node, whoever is watching."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import ASKING, Call, announced_late
from scratchflow.cli.options import DRY_RUN, VerbCommand, VerbGroup, caller
from scratchflow.cli.remote_call import on_login
from scratchflow.cli.status_lines import NEXT_WHY
from scratchflow.model.ages import at, span
from scratchflow.model.requests import DryRun, Nothing, SwitchOn
from scratchflow.model.results.backup import AutobackupStatus, AutobackupSwitched
from scratchflow.model.text import printable

app = typer.Typer(
    cls=VerbGroup,
    rich_markup_mode=None,
    add_completion=False,
    help="Back up by itself: on the node, inside the job, without laptop, editor or tmux.",
)


@app.command("on", cls=VerbCommand)
def switch_on(
    context: typer.Context, dry_run: Annotated[bool, DRY_RUN] = False
) -> Call[AutobackupSwitched]:
    """Start it on the node, or again when its settings changed; `backup.every` says how often."""
    who, request = caller(context), SwitchOn(dry_run=dry_run)
    call: Call[AutobackupSwitched] = on_login(who, "autobackup on", request, _switched)
    return announced_late(ASKING, call, is_watched=who.may_ask)


@app.command("off", cls=VerbCommand)
def switch_off(
    context: typer.Context, dry_run: Annotated[bool, DRY_RUN] = False
) -> Call[AutobackupSwitched]:
    """End it; a backup that is under way is finished first."""
    return on_login(caller(context), "autobackup off", DryRun(dry_run=dry_run), _switched)


@app.command("status", cls=VerbCommand)
def status(context: typer.Context) -> Call[AutobackupStatus]:
    """Show when it last saved, when it will next, and what went wrong."""
    return on_login(caller(context), "autobackup status", Nothing(), _shown)


def _switched(switched: AutobackupSwitched) -> Iterator[str]:
    would = "would be " if switched.dry_run else ""
    if switched.enabled:
        already = "" if switched.changed else " already"
        following = f", next at {at(switched.next_time)}" if switched.next_time else ""
        if switched.workspace_exists is False:
            following = ", once there is a workspace: `scratchflow up` brings or makes it"
        every, node = span(switched.every_s), printable(switched.node)
        also = "".join(f", `{printable(one)}`" for one in switched.others)
        yield f"auto-backup {would}on{already}: every {every} on `{node}`{also}{following}"
    else:
        yield f"auto-backup {would}off" if switched.changed else "auto-backup was off already"


def _shown(status: AutobackupStatus) -> Iterator[str]:
    shown = status.autobackup
    if status.node is None:
        yield "there is no node to back up; `scratchflow up` takes one and starts the auto-backup"
    elif shown.kept_off_by:
        profile = printable(shown.kept_off_by)
        yield (
            f"auto-backup is off; that of profile `{profile}` (job {shown.kept_off_job}) has the same workspace and store"
            f" on `{printable(status.node)}`, with other settings"
        )
    elif not shown.enabled:
        yield "auto-backup is off; `scratchflow autobackup on` starts it"
    else:
        overdue = "; OVERDUE, `scratchflow autobackup on` starts it again" if shown.overdue else ""
        priority = f", at low priority ({printable(shown.priority)})" if shown.priority else ""
        also = "".join(f", `{printable(one)}`" for one in shown.others)
        whose = f", by that of profile `{printable(shown.of_profile)}`" if shown.of_profile else ""
        yield f"every {span(shown.every_s)} on `{printable(status.node)}`{also}{whose}{priority}{overdue}"
        if shown.missing_on:
            nodes = ", ".join(f"`{printable(one)}`" for one in shown.missing_on)
            yield f"not on {nodes}; `scratchflow autobackup on` starts it there"
        last = f"at {at(shown.last_time)}" if shown.last_time else "not yet"
        following = f"at {at(shown.next_time)}" if shown.next_time else "unknown"
        why = f" ({NEXT_WHY[shown.next_why]})" if shown.next_why in NEXT_WHY else ""
        yield printable(f"last automatic snapshot {last}, next {following}{why}")
    if shown.last_error:
        yield f"last error: {printable(shown.last_error)}"
