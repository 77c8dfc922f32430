"""What `status` shows as lines: the whole picture, and the one for somebody who keeps it in sight."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from scratchflow.cli.charts import day_line, time_bar
from scratchflow.cli.every_profile import INDENT, speaking_for, unanswered_lines
from scratchflow.cli.tables import wrapped
from scratchflow.model.ages import (
    age,
    at,
    for_people,
    for_profile,
    shown_id,
    span,
    time_left,
    until,
)
from scratchflow.model.errors.store import StoreLost, StoreUnusable
from scratchflow.model.results.backup import AutobackupShown, CopyShown
from scratchflow.model.results.status import (
    AliasShown,
    AllocationShown,
    ElsewhereShown,
    MirrorShown,
    OtherShown,
    Problem,
    RunningShown,
    SessionShown,
    SnapshotsShown,
    StatusOfAll,
    StatusShown,
    WorkspaceShown,
)
from scratchflow.model.text import counted, printable, restore_command
from scratchflow.model.times import epoch
from scratchflow.model.units import format_size
from scratchflow.report.output import terminal_width

AT_THE_END = ", next when the job ends"
AND_AT_THE_END = ", and when the job ends"
NEXT_WHY = {
    "retry": "again, after a failure",
    "final": "before the time limit",
    "closing": "once more before the time limit",
}
_FRESH_S = 300
_DAY_S = 86400


def shown(status: StatusShown) -> Iterator[str]:
    """The whole picture as lines, and last what makes sense next."""
    width = terminal_width()
    rows = {
        "profile": status.profile,
        "node": _node(status.allocation, has_cluster=status.scheduler == "slurm"),
        "alias": _alias(status.alias),
        "workspace": _workspace(status.workspace, is_held=status.allocation is not None),
        "snapshots": _snapshots(status.snapshots),
        "store": _store(status),
        "mirror": _mirror(status.mirror),
        "auto-backup": _autobackup(status.autobackup, status.allocation),
        "running": _running(status.running),
        "tmux": _session(status.session, is_held=status.allocation is not None),
    }
    if _store_is_unread(status):
        rows |= dict.fromkeys(("snapshots", "auto-backup"), "not known: the store cannot be read")
    for name, text in rows.items():
        if text:
            yield from wrapped(f"{name:<12} ", for_profile(printable(text)), width)
        if name == "node":
            yield from _other_nodes(status, width)
            yield from _usage(status, width)
        if name == "workspace":
            for other in status.others:
                yield from wrapped(f"{'also there':<12} ", printable(_other(other)), width)
    yield from _servers(status, width)
    for held in status.elsewhere:
        yield from wrapped(f"{'also yours':<12} ", printable(_elsewhere(held)), width)
    yield from problem_lines(status.problems, width)
    if status.next_step:
        yield from wrapped("Next: ", for_people(printable(status.next_step)), width)


def overview(everywhere: StatusOfAll) -> Iterator[str]:
    """A few lines for each profile: its node, its last snapshot, and what is wrong."""
    width = terminal_width()
    for status in everywhere.profiles:
        with speaking_for(status.profile):
            yield from wrapped(
                f"{status.profile}: ", for_people(printable(_in_short(status))), width
            )
            narrower = width and width - len(INDENT)
            yield from [f"{INDENT}{line}" for line in problem_lines(status.problems, narrower)]
    yield from unanswered_lines(everywhere, width)


def _in_short(status: StatusShown) -> str:
    held = status.allocation
    has_cluster = status.scheduler == "slurm"
    node = _node(held, has_cluster=has_cluster)
    saved = "not known" if _store_is_unread(status) else _snapshots(status.snapshots)
    parts = [f"node {node}" if has_cluster else node, f"snapshots {saved}"]
    if held is not None and held.state != "pending":
        parts.append(f"auto-backup {'on' if status.autobackup.enabled else 'off'}")
    return "; ".join(parts)


def _servers(status: StatusShown, width: int | None) -> Iterator[str]:
    if status.servers or status.tunnels:
        from scratchflow.cli.server_words import server_lines, tunnel_lines

        for server in status.servers:
            yield from server_lines(server, width, "serving")
        for tunnel in status.tunnels:
            yield from tunnel_lines(tunnel, width, "tunnel")


def _usage(status: StatusShown, width: int | None) -> Iterator[str]:
    if status.usage:
        from scratchflow.cli.usage_words import usage_lines

        yield from usage_lines(status.usage, width)


def problem_lines(problems: Iterable[Problem], width: int | None) -> Iterator[str]:
    """What is wrong, each with what mends it."""
    for problem in problems:
        yield from wrapped("✗ ", for_people(printable(problem.detail)), width)
        yield from wrapped("  fix: ", for_people(printable(problem.fix)), width)


def _store_is_unread(status: StatusShown) -> bool:
    """One that can be read and not written to has its snapshots shown: somebody may want their work out."""
    names = {problem.name for problem in status.problems}
    return StoreLost.code in names or (StoreUnusable.code in names and not status.store)


def _other_nodes(status: StatusShown, width: int | None) -> Iterator[str]:
    """The further nodes of the job, each with what is known of its copy of the workspace."""
    held = status.allocation
    copies = {copy.node: copy for copy in status.copies}
    for number, node in enumerate(held.nodes[1:] if held else [], start=2):
        copy = copies.get(node)
        text = f"{node}: {_copy(copy)}" if copy else node
        yield from wrapped(f"{f'node {number}':<12} ", for_people(printable(text)), width)


def _copy(copy: CopyShown) -> str:
    if not copy.exists:
        return "no workspace there"
    if copy.changed is None:
        return f"not looked at: {copy.reason}"
    base = f" since snapshot {copy.base}" if copy.base and copy.other_snapshot else ""
    unread = f"; {counted(copy.unsaved, 'path')} cannot be read" if copy.unsaved else ""
    if copy.changed:
        return f"differs: {counted(copy.changed, 'file')}{base}{unread}"
    if copy.fork:
        return f"differs, saved as a fork, snapshot {copy.base}{unread}"
    return (f"unchanged{base}" if base else "the same") + unread


def watched(status: StatusShown) -> Iterator[str]:
    """The picture for somebody who keeps it in sight: with bars, and a warning that counts down.

    The warning comes first: a terminal that is too low cuts off the end.
    """
    held = status.allocation
    left_s = held.seconds_left if held else None
    if held and left_s is not None and left_s < held.warn_at_s()[0]:
        yield f"! the allocation ends in {time_left(left_s)}"
    yield from shown(status)
    yield ""
    bar = _time_left_bar(held)
    if bar:
        yield f"{'time left':<12} {bar}"
    if status.snapshots.count:
        yield f"{'last 24 h':<12} {_day(status.snapshots)} now"
        yield f"{'':<12} {_sizes(status.snapshots)}"


def _time_left_bar(held: AllocationShown | None) -> str:
    if held is None or held.seconds_left is None:
        return ""
    start_s, end_s = epoch(held.start_time), epoch(held.end_time)
    if start_s is None or end_s is None:
        return ""
    left, total = _clock(held.seconds_left), _clock(int(end_s - start_s))
    return f"{time_bar(held.seconds_left, int(end_s - start_s))} {left} of {total}"


def _clock(seconds: int) -> str:
    """`1:59:07`: as wide a second later."""
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _day(snapshots: SnapshotsShown) -> str:
    taken = [(epoch(one.time) or 0.0, one.stored_bytes) for one in snapshots.recent]
    return day_line(taken, time.time())


def _sizes(snapshots: SnapshotsShown) -> str:
    total = format_size(sum(one.stored_bytes for one in snapshots.recent))
    last = (
        f"; the last {format_size(snapshots.recent[-1].stored_bytes)}" if snapshots.recent else ""
    )
    return f"{counted(len(snapshots.recent), 'snapshot')}, {total} stored{last}"


def _node(held: AllocationShown | None, *, has_cluster: bool) -> str:
    if held is None:
        return "none" if has_cluster else "this machine, no session"
    job = f"job {held.job_id}" if held.job_id is not None else "this machine"
    if held.state == "pending":
        estimate = f", expected at {at(held.start_estimate)}" if held.start_estimate else ""
        return f"waiting, {job}: {held.reason}{estimate}"
    end = until(held.end_time, held.seconds_left)
    state = "" if held.state == "running" else held.state
    return ", ".join(filter(None, [held.node or "?", job, state, end]))


def _alias(alias: AliasShown | None) -> str:
    if alias is None:
        return ""
    if not alias.exists:
        return f"no `{alias.name}` for ssh yet; `scratchflow up` makes it"
    if alias.parked:
        return f"{alias.name} is parked: it leads to no node until `scratchflow up`"
    if alias.of_profile:
        return f"{alias.name} leads to {alias.target} of profile `{alias.of_profile}`"
    return f"{alias.name} leads to {alias.target}"


def _workspace(workspace: WorkspaceShown, *, is_held: bool) -> str:
    if workspace.goes_with_job and not is_held:
        return f"{workspace.path}, in each job anew; `scratchflow up` brings the last snapshot"
    if workspace.exists is False:
        return f"{workspace.path} is not there"
    base = workspace.base_snapshot and shown_id(workspace.base_snapshot)
    if workspace.exists is None and base:
        return (
            f"{workspace.path}: an earlier job left snapshot {base} there; `scratchflow up` looks"
        )
    base = f", from snapshot {base}" if base else ""
    goes = "; removed when the job ends, only snapshots stay" if workspace.goes_with_job else ""
    return f"{workspace.path}{base}{_seen(workspace.seen_time)}{goes}"


def _other(other: OtherShown) -> str:
    who = "an auto-backup of its own" if other.own_autobackup else "the same auto-backup"
    who = who if other.is_saved else "no auto-backup"
    if other.store_missing and not other.is_saved:
        return f"{other.path}; its store {other.store_missing} is not there: whether it is saved is not known"
    if other.restoring:
        return f"{other.path}: half restored from snapshot {shown_id(other.restoring)}; no backup is taken of it"
    if other.snapshot and other.newer:
        newer = f"the store has a newer one, {shown_id(other.newer)}"
        old = f"an older copy, from snapshot {shown_id(other.snapshot)}"
        if not other.own_autobackup:  # else another profile's, whose settings may differ
            newer += f": `{restore_command(workspace=other.name)}` brings it"
        return f"{other.path}: {old}; {newer}; {who} saves what is changed in the old one"
    base = f", from snapshot {shown_id(other.snapshot)}" if other.snapshot else ""
    return f"{other.path}{base}; {who} saves it"


def _elsewhere(held: ElsewhereShown) -> str:
    """A node of another profile, which commands without `-p` do not touch."""
    what = "a place in the queue" if held.state == "pending" else held.node or "?"
    end = until(held.end_time)
    command = f"`scratchflow -p {held.profile} status`"
    holder = f"held by profile `{held.profile}`: {command}"
    if held.cancel:
        holder = (
            f"held by profile `{held.profile}`, which this machine does not have:"
            f" `{held.cancel}` ends it without a backup"
        )
    parts = [f"{what}, job {held.job_id}", end, holder]
    return ", ".join(filter(None, parts))


def _seen(seen_time: str | None) -> str:
    """Nothing when somebody on the node has just looked."""
    seen_s = epoch(seen_time)
    ago_s = time.time() - seen_s if seen_s is not None else 0.0
    return f" (seen {age(ago_s)})" if ago_s > _FRESH_S else ""


def _snapshots(snapshots: SnapshotsShown) -> str:
    if not snapshots.count:
        return "none yet"
    ago = f" {age(snapshots.last_age_s)}" if snapshots.last_age_s is not None else ""
    name = f' "{for_people(snapshots.last_message)}"' if snapshots.last_message else ""
    last = f"{shown_id(snapshots.last_id or '?')}{name}{_checked(snapshots.oldest_check_s)}"
    return f"{snapshots.count:,}, the last{ago}: {last}"


def _store(status: StatusShown) -> str:
    """Where the snapshots are, with the way back for whoever has nothing else."""
    if not status.store or not status.snapshots.count:
        return ""
    where = f" on {status.session.host}" if status.scheduler == "slurm" else ""
    return f"{status.store}{where}, with HOW-TO-RESTORE.txt"


def _mirror(mirror: MirrorShown | None) -> str:
    """What is there as far as is known; why not all is among the problems."""
    if mirror is None:
        return ""
    if not mirror.looked_time:
        return f"{mirror.mirror}, not looked at yet"
    said = f"{counted(mirror.missing, 'snapshot')} not there yet" if mirror.missing else ""
    if mirror.damaged:
        bad = f"{counted(mirror.damaged, 'damaged snapshot')} left out"
        return ", ".join(filter(None, [mirror.mirror, said, bad]))
    return f"{mirror.mirror}, {said or 'all snapshots'}"


def _running(running: RunningShown | None) -> str:
    return f"{running.doing} on {running.host} since {at(running.since)}" if running else ""


def _checked(oldest_s: int | None) -> str:
    """How long the snapshot waits that was not read back for longest; a day is what is promised."""
    if oldest_s is None:
        return "; one was never verified"
    return f"; oldest check: {age(oldest_s)}" if oldest_s > _DAY_S else ""


def _autobackup(autobackup: AutobackupShown, held: AllocationShown | None) -> str:
    if not autobackup.enabled:
        return "off"
    end_time = held.end_time if held else None
    following = following_words(autobackup.next_time, end_time, autobackup.next_why)
    if held is not None and held.job_id is not None and following != AT_THE_END:
        following += AND_AT_THE_END
    of = f", by the auto-backup of `{autobackup.of_workspace}`" if autobackup.of_workspace else ""
    if autobackup.of_profile:
        of = f", by the auto-backup of profile `{autobackup.of_profile}`"
    if held is not None and len(held.nodes) > 1:
        missing = ", ".join(autobackup.missing_on)
        of += f", not on {missing}" if missing else ", on every node"
    return f"every {span(autobackup.every_s)}{of}{following}"


def following_words(next_time: str | None, end_time: str | None, why: str = "") -> str:
    """When the next automatic backup is due, and why then if not by the interval; after the job's end there is none."""
    next_s, end_s = epoch(next_time), epoch(end_time)
    if next_s is not None and end_s is not None and next_s >= end_s:
        return AT_THE_END
    reason = f" ({NEXT_WHY[why]})" if why in NEXT_WHY else ""
    return f", next at {at(next_time)}{reason}" if next_time else ""


def _session(session: SessionShown, *, is_held: bool) -> str:
    if session.alive is False:
        return f"no session; `scratchflow {'attach' if is_held else 'up'}` starts one"
    return f"session {session.name} on {session.host}; `scratchflow attach` opens it"
