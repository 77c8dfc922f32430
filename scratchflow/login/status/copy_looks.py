"""The copies of the workspace on further nodes, as `status` shows them: how often they are looked at, and what is wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from scratchflow.config.settings import Settings
from scratchflow.model.allocation import Allocation
from scratchflow.model.results.backup import CopyShown
from scratchflow.model.results.status import Problem
from scratchflow.model.text import counted

AGAIN_AFTER_S = 60.0
_NAMED = 3


def copies_differ(copies: Sequence[CopyShown], *, is_first_there: bool = True) -> Iterator[Problem]:
    """What was changed on a further node alone, what no snapshot can hold there, and where the workspace is missing.

    Missing only beside a first node that has it: otherwise it was not brought yet.
    """
    for copy in copies:
        if not copy.exists and is_first_there:
            yield Problem(
                name="nodes.missing",
                detail=f"there is no workspace on `{copy.node}`",
                fix="`scratchflow up` brings it there, and leaves the other nodes as they are",
            )
        if copy.unsaved:
            named = ", ".join(f"`{path}`" for path in copy.unsaved_paths[:_NAMED])
            more = ", …" if copy.unsaved > min(_NAMED, len(copy.unsaved_paths)) else ""
            yield Problem(
                name="nodes.unsaved",
                detail=f"`{copy.node}`: no snapshot holds {counted(copy.unsaved, 'path')} ({named}{more})",
                fix="make them readable there (`chmod`, `chown`), or delete them",
            )
        if copy.changed or copy.fork:
            makes = "saves that copy" if copy.changed else "makes that copy the newest"
            yield Problem(
                name="nodes.differ",
                detail=differs(copy),
                fix=f"`scratchflow backup --from-node {copy.node}` {makes};"
                " `scratchflow restore` brings all nodes to one snapshot, and saves first what only one has",
            )


def differs(copy: CopyShown) -> str:
    """In words, for a copy that was changed."""
    if not copy.changed:
        return f"`{copy.node}` differs: what it has of its own is saved as a fork, snapshot {copy.base}"
    since = f" since snapshot {copy.base}" if copy.base and copy.other_snapshot else ""
    return f"`{copy.node}` differs: {counted(copy.changed or 0, 'file')}{since}"


class CopyLooks:
    """For one who looks again and again: the copies are scanned once a minute, and what was seen is told meanwhile."""

    def __init__(self) -> None:
        self._of: tuple[str, ...] = ()
        self._seen: list[CopyShown] = []
        self._at_s = float("-inf")

    def look(
        self, settings: Settings, held: Allocation | None, environment: Mapping[str, str]
    ) -> list[CopyShown]:
        """The copies of the job's further nodes; none unless it runs on several."""
        running = held.granted() if held and held.state == "running" else None
        if running is None or len(running.nodes) < 2:
            return []
        of = (str(running.job_id), *running.nodes)
        if of != self._of or time.monotonic() - self._at_s > AGAIN_AFTER_S:
            from scratchflow.login.copies import look_at_copies  # most jobs have one node

            self._seen = look_at_copies(settings, running, environment)
            self._of, self._at_s = of, time.monotonic()
        return self._seen
