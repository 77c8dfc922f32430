"""One backup of the auto-backup's loop: what it saves, what it logs, and what its heartbeat says then."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from scratchflow.model.events import Event, Warned
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.snapshot import Purpose
from scratchflow.model.text import counted, removed_in_words, shown_path
from scratchflow.model.units import format_took
from scratchflow.node.backup import backup, foretell_backup
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import Heartbeat
from scratchflow.workspace.notes import read_base

# A log that grows by thousands of lines every half hour fills the store.
_LOGGED_WARNINGS = 20
# At the job's end the first node, whose copy is the newest work, gets the store's lock before the others.
_HEAD_START_S = 0.5
# Snapshots that are taken with the settings of whoever asks for them.
_SETTINGS_OF_NOW = {"asked", "final", "created", "safety", "restored"}


class LoopBackup:
    """Takes the snapshots of one loop. The settings are those that the loop was started with."""

    def __init__(
        self,
        context: NodeContext,
        place: StoreDirectory,
        say: Callable[[str], None],
        *,
        beside: bool = False,
    ) -> None:
        self._context = context
        # Of a further node: forks, and only what no snapshot has.
        self._beside = beside
        self._place = place
        self._say = say
        self._logged = 0
        self.warnings = 0
        self._also: list[str] = []
        self._exclude: list[str] = list(context.profile.backup.exclude)
        self._known_base = read_base(context.workspace, context.store)

    def take(self, message: str, purpose: Purpose, *, job_ends: bool = False) -> BackupTaken:
        """Takes one snapshot. Each has its own notifier, so its warnings are counted alone."""
        self._logged = self.warnings = 0
        notify = Notifier(self._hear)
        self._follow_newer_settings()
        wanted = SnapshotOptions(
            message=message,
            purpose=purpose,
            roots=self._roots(),
            scratch_goes=job_ends and self._context.scratch_goes_with_job,
            beside=self._beside,
        )
        context = self._with_excludes()
        taken = self._found_unchanged(context, notify, wanted) if self._beside else None
        if taken is None:
            if self._beside and job_ends:
                time.sleep(_HEAD_START_S)
            self._logged = self.warnings = 0
            taken = backup(context, Notifier(self._hear), wanted)
        self._known_base = taken.snapshot
        took = format_took(taken.duration_s)
        self._say(f"{message}: snapshot {taken.snapshot}, {taken.kind}, in {took}{_news(taken)}")
        if taken.pruned:
            self._say(removed_in_words(taken.pruned))
        return taken

    def _found_unchanged(
        self, context: NodeContext, notify: Notifier, wanted: SnapshotOptions
    ) -> BackupTaken | None:
        """What a look at the workspace says when nothing is to be saved.

        Most copies of further nodes never change. They do not wait for the store's lock, which the first node
        needs: when the job ends, all have the same few seconds.
        """
        only_look = msgspec.structs.replace(wanted, allow_shrink=True)  # the backup warns, once
        with context.alone(notify.remark):
            seen = foretell_backup(context, notify, only_look)
        return seen if seen.kind == "unchanged" else None

    def _follow_newer_settings(self) -> None:
        """Saves what the newest snapshot that is not ours saved, when the workspace came from it.

        The profile came with the request that started the loop; its file may be on a laptop. What
        a person's `backup`, or `clear`, saved since then shows what `also` and `exclude` are now.
        With the old ones, the snapshot at the job's end would leave out what `clear` has just saved.
        """
        base = read_base(self._context.workspace, self._context.store)
        if base in {None, self._known_base}:
            return
        self._known_base = base
        found = [one for one in read_catalogue(self._place).snapshots if one.id == base]
        if found and found[0].purpose in _SETTINGS_OF_NOW:
            self._also, self._exclude = list(found[0].also), list(found[0].exclude)

    def _roots(self) -> Sequence[str]:
        """The profile's roots, and those that were saved with them since the loop began."""
        roots = self._context.workspace.roots
        more = [root for root in self._also if root not in roots]
        return [*roots, *more] if more else ()

    def _with_excludes(self) -> NodeContext:
        profile = self._context.profile
        options = msgspec.structs.replace(profile.backup, exclude=self._exclude)
        profile = msgspec.structs.replace(profile, backup=options)
        settings = msgspec.structs.replace(self._context.settings, profile=profile)
        return msgspec.structs.replace(self._context, settings=settings)

    def _hear(self, event: Event) -> None:
        """Writes warnings to the log. Nobody reads our output, and a pipe would fill up."""
        if not isinstance(event, Warned):
            return
        self.warnings += 1
        if self._logged < _LOGGED_WARNINGS:
            self._logged += 1
            path = shown_path(event.path, event.path_b64)
            self._say(f"warning: {path + ': ' if path else ''}{event.message}")


def _news(taken: BackupTaken) -> str:
    removed = f"; {counted(taken.removed_files, 'file')} removed" if taken.removed_files else ""
    unsaved = f"; {counted(taken.unsaved, 'path')} could not be read" if taken.unsaved else ""
    beside = "; as a fork, the newest one stays" if taken.beside else ""
    return removed + unsaved + beside


def after_backup(life: Heartbeat, taken: BackupTaken, now: str | None, warnings: int) -> Heartbeat:
    """The heartbeat with what the last backup says."""
    return msgspec.structs.replace(
        life,
        last_time=now,
        last_snapshot=taken.snapshot,
        warnings=warnings,
        unsaved=taken.unsaved,
        unsaved_paths=taken.unsaved_paths,
        shrunk=taken.shrunk,
    )
