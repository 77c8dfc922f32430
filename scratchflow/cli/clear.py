"""`scratchflow clear`: let everything go again, after a last backup."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, caller
from scratchflow.cli.questions import where_somebody_is
from scratchflow.cli.remote_call import would_run_each
from scratchflow.model.ages import age, shown_id
from scratchflow.model.events import Emit
from scratchflow.model.results.allocation import Cleared
from scratchflow.model.text import counted, printable, restore_command, what_brings

LEAVE_BEHIND = typer.Option(
    "--leave-behind",
    help="Give it back though a workspace there is not all saved.",
)

ENDS_RUNS = typer.Option("--yes", "-y", help="Also end commands of `run --detach`, without asking.")

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def clear(
    context: typer.Context,
    no_backup: Annotated[
        bool, typer.Option("--no-backup", help="Give the node back without a last backup.")
    ] = False,
    leave_behind: Annotated[bool, LEAVE_BEHIND] = False,
    pending: Annotated[
        bool,
        typer.Option("--pending", help="Withdraw what waits in the queue, and keep the node."),
    ] = False,
    yes: Annotated[bool, ENDS_RUNS] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Cleared]:
    """Take a last backup, give the node back, end our tmux session, park the ssh alias.

    The node is kept when the backup fails, and while a file of a workspace on it is in no snapshot. Only
    our own job and session are touched. On a terminal it asks before it ends a command of `run --detach`.
    """
    who = caller(context)

    def run(emit: Emit) -> Cleared:
        from scratchflow.flows.clear.clear import ClearOptions
        from scratchflow.flows.clear.clear import clear as flow

        options = ClearOptions(not no_backup, dry_run, leave_behind, pending)
        return flow(who, emit, options, where_somebody_is(emit, who.may_ask, yes=yes))

    return Call("clear", run, _shown)


def _shown(cleared: Cleared) -> Iterator[str]:
    if cleared.dry_run:
        none = "no request waits" if cleared.pending else "there is no allocation"
        if cleared.commands:
            yield from would_run_each(cleared.commands)
        else:
            yield f"would run: nothing, {none}"
        return
    if cleared.pending:
        yield _withdrawn(cleared)
        return
    if cleared.snapshot and cleared.newer:
        yield (
            f"the node held another copy of the workspace, which is in snapshot {shown_id(cleared.snapshot)}"
            f"{_read_back(cleared)}; the newest snapshot is {shown_id(cleared.newer)}"
        )
    elif cleared.snapshot and cleared.unsaved == cleared.unsaved_beside:
        yield f"the workspace is saved in snapshot {shown_id(cleared.snapshot)}{_read_back(cleared)}"
    elif cleared.snapshot:
        missing = counted(cleared.unsaved - cleared.unsaved_beside, "path")
        yield f"snapshot {shown_id(cleared.snapshot)} holds the workspace without {missing}{_read_back(cleared)}"
    yield from _other_workspaces(cleared)
    if cleared.goes_with_job and cleared.snapshot:
        yield "that is the only copy: the directory on the node goes with the job"
    if cleared.released:
        yield from _released(cleared)
    else:
        yield "there was no allocation"
    if cleared.parked:
        yield "the ssh alias is parked: it leads to no node until `scratchflow up`"
    yield from _what_stays(cleared)


def _other_workspaces(cleared: Cleared) -> Iterator[str]:
    """One line each. An older copy of which nothing was left to save is not worth one."""
    for name, snapshot in cleared.others.items():
        if name in cleared.old_others:
            continue
        command = restore_command(name, cleared.other_stores.get(name, ""))
        if name in cleared.forked_others:
            command += f" {shown_id(snapshot)}"
        profile = cleared.other_profiles.get(name, "")
        brings = what_brings(
            command,
            profile,
            is_there=name in cleared.still_used,
            has_node=any(one.profile == profile and one.node for one in cleared.elsewhere),
            fork=shown_id(snapshot) if name in cleared.forked_others else "",
        )
        saved = f"workspace `{name}`, on the same node, is saved in snapshot {shown_id(snapshot)}"
        yield printable(f"{saved}; {brings}")


def _what_stays(cleared: Cleared) -> Iterator[str]:
    """What else of the user's is on the cluster: whoever wants to free everything has to know."""
    for one in cleared.elsewhere:
        does = f"holds `{one.node}`" if one.node else "waits for a node"
        ends = f"`scratchflow -p {one.profile} clear` ends that"
        if one.cancel:
            ends += f" on a machine that has this profile; `{one.cancel}` ends it from here, without a backup"
        yield printable(f"profile `{one.profile}` still {does}, job {one.job_id}; {ends}")
    if numbers := [one.job_id for one in cleared.submitted if one.is_listed]:
        go, them = ("goes on", "it") if len(numbers) == 1 else ("go on", "them")
        yield f"submitted {_jobs(numbers)} {go}; `scratchflow jobs` lists {them}"
    if numbers := [one.job_id for one in cleared.submitted if not one.is_listed]:
        go, them = ("goes on", "it") if len(numbers) == 1 else ("go on", "them")
        yield f"{_jobs(numbers)}, submitted with another profile, {go}; `scratchflow -p PROFILE jobs` lists {them}"


def _withdrawn(cleared: Cleared) -> str:
    if not cleared.job_ids:
        return "no request waits in the queue"
    return f"withdrawn from the queue: {_jobs(cleared.job_ids)}"


def _released(cleared: Cleared) -> Iterator[str]:
    """A job that only waited had no node that could be given back."""
    numbers = cleared.job_ids or ([cleared.job_id] if cleared.job_id is not None else [])
    held = [number for number in numbers if number not in cleared.withdrawn]
    if not numbers:
        yield "the session was ended"
    if held:
        yield f"{_jobs(held)} {'was' if len(held) == 1 else 'were'} given back"
    if cleared.withdrawn:
        yield f"withdrawn from the queue: {_jobs(cleared.withdrawn)}"


def _jobs(numbers: Sequence[int]) -> str:
    return f"job{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _read_back(cleared: Cleared) -> str:
    """What is known of the snapshot in the store; nothing on one machine, which keeps its files."""
    age_s = cleared.read_back_age_s
    if age_s is None:
        return ", which was not read back" if cleared.job_id is not None else ""
    if age_s < 60:
        return f", read back {age(age_s)}"
    # Part of it lies in archives of earlier snapshots, which may have been read back before this one was taken.
    return f", all of it read back, the first part {age(age_s)}"
