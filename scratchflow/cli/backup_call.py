"""What `scratchflow backup` does once it is parsed, and its words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from scratchflow.cli.call import Call, announced_late, telling_what_an_end_means
from scratchflow.cli.remote_call import at_workspace
from scratchflow.model.ages import for_people, named, shown_id
from scratchflow.model.errors.workspace import AGREED_TO_SHRINK, ShrinkGuard
from scratchflow.model.events import Emit
from scratchflow.model.requests import Backup
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.text import counted, removed_in_words
from scratchflow.model.units import format_size, format_took

if TYPE_CHECKING:
    from scratchflow.dispatch.cluster import Caller

_QUESTION = (
    "Save what is left? The larger snapshot then stays only as long as the usual rules keep it"
)
_CUT_SHORT = "A snapshot that was complete by then stays: `scratchflow snapshots list` shows it."


def backup_call(who: Caller, request: Backup, from_node: str = "") -> Call[BackupTaken]:
    """The call; a person at a terminal is asked before a workspace that lost most of its files is saved."""
    call: Call[BackupTaken] = at_workspace(who, "backup", request, shown, node=from_node)
    call = announced_late("looking for the workspace", call, is_watched=who.may_ask)
    if not request.dry_run:
        call = telling_what_an_end_means(call, _CUT_SHORT)
    if request.dry_run or not who.may_ask or not sys.stdin.isatty():
        return call
    agreed = msgspec.structs.replace(request, allow_shrink=True)
    again: Call[BackupTaken] = at_workspace(who, "backup", agreed, shown, node=from_node)

    def run(emit: Emit) -> BackupTaken:
        from scratchflow.report.question import question_open

        try:
            return call.flow(emit)
        except ShrinkGuard as refused:
            with question_open(emit):
                if not _agrees(emit, refused):
                    raise
        return again.flow(emit)

    return Call(call.op, run, call.show)


def _agrees(emit: Emit, refused: ShrinkGuard) -> bool:
    from shutil import get_terminal_size

    from scratchflow.cli.questions import confirmed
    from scratchflow.model.wrap import broken

    width = get_terminal_size().columns
    # The hint, not the fields: an error that an agent reported has none.
    for text in (str(refused), refused.shown_hint.removesuffix(AGREED_TO_SHRINK)):
        sys.stderr.write("".join(f"{line}\n" for line in broken(for_people(text), width)))
    return confirmed(emit, _QUESTION)


def shown(taken: BackupTaken) -> Iterator[str]:
    """What was saved."""
    if taken.kind == "unchanged":
        where = f" in `{taken.path}`" if taken.path else ""
        yield f"nothing changed{where} since snapshot {named(taken.snapshot or '')}"
        return
    changed = f"{counted(taken.changed_files, 'file')} ({format_size(taken.changed_bytes)}) changed"
    if taken.moved_files:
        changed += f", {counted(taken.moved_files, 'file')} copied or moved"
    if taken.removed_files:
        changed += f", {counted(taken.removed_files, 'file')} removed"
    total = f"{counted(taken.files, 'file')}, {format_size(taken.bytes)}"
    if taken.dry_run:
        yield f"would take a snapshot: {taken.kind}, {changed}, {total} in all"
    else:
        stored = f"{format_size(taken.stored_bytes)} stored in {format_took(taken.duration_s)}"
        yield f"snapshot {shown_id(taken.snapshot or '')}: {taken.kind}, {changed}, {total} in all, {stored}"
    if taken.pruned:
        yield removed_in_words(taken.pruned)
