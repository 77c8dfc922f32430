"""The question before `snapshots prune ID…`: what goes for good, and whether that is meant."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime

from scratchflow.cli.naming import bracketed, stays_in_words
from scratchflow.cli.questions import confirmed
from scratchflow.cli.snapshot_words import in_doubt, message_in_words, next_is_full_in_words
from scratchflow.model.ages import shown_id
from scratchflow.model.errors.snapshots import RemovalDeclined, RemovalUnconfirmed
from scratchflow.model.events import Emit
from scratchflow.model.results.snapshots import SnapshotRow, SnapshotsPruned
from scratchflow.model.text import counted
from scratchflow.model.times import epoch
from scratchflow.model.units import format_size
from scratchflow.model.wrap import broken
from scratchflow.report.output import terminal_width
from scratchflow.report.question import question_open


def confirm_removal(
    rows: Iterable[SnapshotRow], planned: SnapshotsPruned, emit: Emit, *, may_ask: bool
) -> None:
    """Shows the snapshots and asks. Raises when the answer is no, or when nobody can be asked."""
    chosen = list(rows)
    if not may_ask or not sys.stdin.isatty():
        raise RemovalUnconfirmed(snapshots=" ".join(one.id for one in chosen))
    with question_open(emit):
        lines = removal_in_words("Remove for good:", chosen, planned)
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        if not confirmed(emit, "Sure?"):
            raise RemovalDeclined


def removal_in_words(
    heading: str, rows: Iterable[SnapshotRow], planned: SnapshotsPruned
) -> Iterator[str]:
    """What is lost when these snapshots are removed, and what that frees: others may need most of what they store."""
    now, width = datetime.now(), terminal_width()
    yield heading
    for one in rows:
        taken = datetime.fromtimestamp(epoch(one.time) or 0)
        parts = [
            shown_id(one.id),
            _moment(taken, now),
            f"{counted(one.files, 'file')}, {format_size(one.bytes)}",
            message_in_words(one),
            in_doubt(one),
            bracketed(stays_in_words(one.stays)),
        ]
        yield from broken("  " + "  ".join(filter(None, parts)), width, "    ")
    frees = (
        f"That frees at least {format_size(planned.freed_bytes)}; what other snapshots need stays."
    )
    if not planned.freed_bytes:
        frees = "That may free nothing: what other snapshots need stays."
    yield from broken(frees, width)
    if planned.next_is_full:
        yield from broken(next_is_full_in_words(planned), width)


def _moment(taken: datetime, now: datetime) -> str:
    days = (now.date() - taken.date()).days
    near = {0: "today", 1: "yesterday"}
    return f"{near.get(days) or f'{taken.day} {taken:%b %Y}'} {taken:%H:%M}"
