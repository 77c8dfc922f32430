"""What `scratchflow up` does once it is parsed, and its words."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from scratchflow.cli.call import Call
from scratchflow.cli.node_wanted import NodeRequest
from scratchflow.cli.remote_call import name_in_hints, on_the_others, other_nodes, would_run
from scratchflow.cli.status_lines import problem_lines
from scratchflow.model.ages import named, span
from scratchflow.model.ages import until as until_words
from scratchflow.model.events import Emit
from scratchflow.model.results.backup import AutobackupSwitched
from scratchflow.model.results.up import UpAndRunning
from scratchflow.model.text import printable
from scratchflow.model.times import epoch
from scratchflow.model.wrap import Whole
from scratchflow.report.output import terminal_width

if TYPE_CHECKING:
    from scratchflow.dispatch.cluster import Caller


class Start(msgspec.Struct, frozen=True):
    """What was typed after `up`, but for the node."""

    login: str = ""
    open_editor: bool = False
    local: bool = False
    yes: bool = False
    dry_run: bool = False


def up_call(who: Caller, wanted: NodeRequest, start: Start) -> Call[UpAndRunning]:
    """The call."""

    def run(emit: Emit) -> UpAndRunning:
        from scratchflow.cli.questions import TerminalAsker
        from scratchflow.flows.setup.which import foretold_set_up, ready_to_work
        from scratchflow.flows.up import foretold_with_set_up
        from scratchflow.flows.up import up as flow

        asker = TerminalAsker(
            emit, may_ask=who.may_ask and not start.dry_run, yes=start.yes and not start.dry_run
        )
        if start.dry_run and not start.local:
            planned = foretold_set_up(
                who, emit, start.login, asker, wanted.foretold(), values=wanted.of_profile
            )
            if planned is not None:
                return foretold_with_set_up(planned)
        ready = ready_to_work(
            who, emit, start.login, asker, local=start.local, values=wanted.of_profile
        )
        name_in_hints(ready)
        request = wanted.hold(ready.settings(), dry_run=start.dry_run)
        say = wanted.saying_if_not_sent(emit)
        now = flow(ready, say, request, run_editor=start.open_editor)
        if now.reused:
            wanted.say_if_unused(emit, now.node, now.job_id)
        return now

    return Call("up", run, shown)


def shown(now: UpAndRunning) -> Iterator[str]:
    """Where the work is now, and how to open it."""
    if now.dry_run:
        if now.set_up_first:
            host = printable(now.set_up_first)
            yield f"would set up `{host}` with these values, after one question"
        yield Whole(would_run(now.command, now.node, now.job_id))
        where = " on every node" if len(now.nodes) > 1 else ""
        yield f"then restore or create the workspace and switch the auto-backup on{where}, where missing"
        return
    job = f", job {now.job_id}" if now.job_id is not None else ""
    until = f", {until_words(now.end_time)}" if now.end_time else ""
    yield f"node `{printable(now.node)}`{job}{until}" + (
        "" if now.changed or now.problems else "; all is well"
    )
    if now.workspace:
        snapshot = f", snapshot {named(now.workspace.snapshot)}" if now.workspace.snapshot else ""
        yield f"workspace `{printable(now.workspace.path)}`{snapshot}"
        yield from on_the_others(now.workspace, "also on")
    if now.autobackup:
        yield autobackup_line(now.autobackup, now.job_id, now.nodes, now.end_time)
    if not now.editor.opened:
        # Where the program is, nobody needs the link, which is longer than a line of a small terminal.
        yield from editor_lines(
            now.editor.command, "" if now.editor.has_editor else now.editor.link
        )
    yield from other_ways(now)
    yield from other_nodes(now.nodes, now.alias)
    yield from problem_lines(now.problems, terminal_width())


def autobackup_line(
    switched: AutobackupSwitched,
    job_id: int | None,
    nodes: Sequence[str] = (),
    end_time: str | None = None,
) -> str:
    """How often; a job also promises a last one. Of several nodes, whether all of them have it."""
    often = f"every {span(switched.every_s)}"
    last = ", and a last snapshot when the job ends" if job_id is not None else ""
    if job_id is not None and (epoch(end_time) or math.inf) - time.time() < switched.every_s:
        often, last = "before the time limit and when the job ends", f" ({often} is later)"
    if switched.of_profile:  # its last one is taken when the other job ends
        often = f"every {span(switched.every_s)}"
        last = f", by that of profile `{printable(switched.of_profile)}`, until its job ends"
    missing = [f"`{node}`" for node in nodes[1:] if node not in switched.others]
    where = f", not on {', '.join(missing)}" if missing else ", on every node"
    return f"auto-backup {often}{last}{printable(where) if nodes[1:] else ''}"


def other_ways(now: UpAndRunning) -> Iterator[str]:
    """A shell there; and, in a workspace that is new, how to bring files."""
    if now.job_id is not None and now.alias:
        yield "for a shell:  `scratchflow shell`, in the workspace"
        yield f"              `ssh {printable(now.alias)}`, in your home"
    if now.workspace and now.workspace.action == "created":
        yield "bring files:  `scratchflow create --from laptop:DIR`"


def editor_lines(command: list[str], link: str) -> Iterator[str]:
    """How to open it."""
    import shlex

    yield Whole(f"open it with: {printable(shlex.join(command))}")
    if link:
        yield Whole(f"or with:      {printable(link)}")
