"""The other workspaces of ours on the node, which the loop saves after its own.

A workspace made with `--set workspace=NAME` has no loop of its own, and goes with the node all the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.snapshot import Purpose
from scratchflow.model.times import iso_time
from scratchflow.model.units import format_took
from scratchflow.node.backup import backup
from scratchflow.node.context import NodeContext
from scratchflow.node.other_workspaces import (
    WorkspaceUnknown,
    as_known,
    came_from,
    half_restored_from,
    is_old_copy,
    other_workspaces,
)
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.heartbeats import OtherWorkspace
from scratchflow.workspace.lock import has_loop
from scratchflow.workspace.workspace import Workspace

# What a heartbeat tells of them must fit into its file.
_MOST = 20


class OtherBackups:
    """Saves them, and remembers for the heartbeat what became of each."""

    def __init__(
        self,
        context: NodeContext,
        say: Callable[[str], None],
        is_ending: Callable[[], bool],
        *,
        beside: bool = False,
    ) -> None:
        self._context = context
        self._beside = beside
        self._say = say
        self._is_ending = is_ending
        self._last: dict[str, OtherWorkspace] = {}

    def take(self, message: str, purpose: Purpose, *, job_ends: bool = False) -> None:
        """Takes a snapshot of each that no loop of its own saves. What fails is told, and stops nothing."""
        for name in self._names():
            if purpose != "final" and self._is_ending():
                return  # the last ones come now, and the profile's own workspace first
            if not has_loop(Workspace(self._context.workspace.scratch, name)):
                self._last[name] = self._take(name, message, purpose, job_ends=job_ends)

    def seen(self) -> list[OtherWorkspace]:
        """Those that are there now."""
        scratch = self._context.workspace.scratch
        try:
            return [self._seen(Workspace(scratch, name)) for name in self._names()[:_MOST]]
        except OSError as error:  # a note that may not be read must not end the loop
            self._say(f"other workspaces: {error}")
            return []

    def _names(self) -> list[str]:
        try:
            return other_workspaces(self._context)
        except ScratchflowError as error:
            self._say(f"other workspaces: {error}")
            return []

    def _seen(self, workspace: Workspace) -> OtherWorkspace:
        base = came_from(self._context, workspace.name)
        last = self._last.get(workspace.name)
        return OtherWorkspace(
            name=workspace.name,
            store=base.store if base else "",
            snapshot=base.snapshot if base else None,
            time=last.time if last else None,
            error=last.error if last else "",
            own_loop=has_loop(workspace),
            restoring=half_restored_from(self._context, workspace.name),
        )

    def _take(self, name: str, message: str, purpose: Purpose, *, job_ends: bool) -> OtherWorkspace:
        error = ""
        try:
            self._save(name, message, purpose, job_ends=job_ends)
        except (ScratchflowError, WorkspaceUnknown) as failed:
            error = str(failed)
        except Exception as bug:  # noqa: BLE001 - one bad backup must not end all later ones
            error = f"internal error: {type(bug).__name__}: {bug}"
        before = self._last.get(name)
        if error:
            self._say(f"`{name}`: {message}: failed: {error}")
            return OtherWorkspace(name=name, time=before.time if before else None, error=error)
        return OtherWorkspace(name=name, time=iso_time(time.time()))

    def _save(self, name: str, message: str, purpose: Purpose, *, job_ends: bool) -> None:
        there = as_known(self._context, name)
        # The rules of another profile, which may keep more, are not known here.
        is_ours = there.settings.name == self._context.settings.name
        options = SnapshotOptions(
            message=message,
            purpose=purpose,
            prune=is_ours,
            beside=self._beside or is_old_copy(there),
            scratch_goes=job_ends and self._context.scratch_goes_with_job,
        )
        taken = backup(there, Notifier(lambda _: None), options)
        took = format_took(taken.duration_s)
        self._say(f"`{name}`: {message}: snapshot {taken.snapshot}, {taken.kind}, in {took}")
