"""`hop --to PROFILE`: onto another cluster, with everything, before the node here is let go.

Each step looks at what is true first, so a run that was killed anywhere is finished by the next one: until the workspace is whole
on the other cluster the node here stays ours, and what it had is in the store here in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.dispatch.other_profile import failures_of, remarks_of
from scratchflow.flows.clear.clear import ClearOptions, clear_on
from scratchflow.flows.clear.last_backup import (
    foretell_last_backup,
    nodes_of,
    require_all_saved,
    require_saved,
    save_copies,
)
from scratchflow.flows.clear.what_ends import Agrees, agree_to_what_ends
from scratchflow.flows.environment_left import warn_of_environment_there
from scratchflow.flows.moved import CODE as MOVED
from scratchflow.flows.moved import forget_move, note_move
from scratchflow.flows.transfer.copy import Require, copy_snapshots
from scratchflow.flows.transfer.copyable import require_copyable
from scratchflow.flows.up import up
from scratchflow.model.allocation import HELD
from scratchflow.model.errors.allocation import AllocationSuspended
from scratchflow.model.errors.hop import (
    ClustersDiverged,
    DamagedThere,
    HopToItself,
    HopUnfinished,
    NameTakenThere,
    OtherWorkThere,
    UnsavedWouldDiverge,
    WorkDiverged,
    WouldDiverge,
)
from scratchflow.model.errors.snapshots import DamagedAtSource, SnapshotDamaged, SnapshotMissing
from scratchflow.model.events import Emit, Event, Log, Progress, Warned
from scratchflow.model.requests import EVERY_NODE, Backup, Hold, Nothing, Offer, OpenJobs, Settle
from scratchflow.model.results.allocation import HoppedTo
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.snapshots import SnapshotRow, SnapshotsListed
from scratchflow.model.results.status import AllocationShown, JobsShown
from scratchflow.model.results.transfer import SnapshotsCopied, SnapshotsLacking, SnapshotsOffered
from scratchflow.model.results.up import UpAndRunning

# Whoever goes on working here meanwhile is caught up with a few times, then told.
_CATCH_UPS = 4
# In the place of an id: what a dry run would save first.
_YET_TO_BE_TAKEN = "yet to be taken"
# What `up` there may warn of, and the move itself mends, or is refused for.
_MENDED = {MOVED, "workspace.behind"}


def hop_to(
    caller: Caller,
    emit: Emit,
    request: Hold,
    to: str,
    *,
    leave_behind: bool = False,
    agrees: Agrees | None = None,
) -> HoppedTo:
    """Backup here, copy, node there, restore, verify, alias over, and only then the node here is released."""
    settings, there = caller.settings(), of_profile(caller, to)
    if there.settings().name == settings.name:
        raise HopToItself(profile=settings.name)
    require_copyable(settings, there.settings())
    remarks = remarks_of(there.settings().name, emit)
    warn_of_environment_there(there.settings(), settings.profile, remarks)
    with cluster_of(settings, caller, emit) as source:
        held = _held(source, None if request.dry_run else agrees)
        moving = _Moving(source, there, emit, request)
        if request.dry_run:
            moving.look_here(held, leave_behind=leave_behind)
            moving.look(held)
            return _foretold(settings.name, there.settings().name)
        now, snapshot = moving.bring_over(held, leave_behind=leave_behind)
        emit(Progress(phase="giving the old node back"))
        cleared = clear_on(source, ClearOptions(leave_behind=leave_behind))
        left = cleared.snapshot if cleared.snapshot not in {None, snapshot} else None
        if left:
            moving.copy([left])
            message = f"`{settings.name}` was still worked on: what changed is in snapshot {left}, in both stores"
            emit(Warned(code="hop.left_behind", message=message))
        _note(settings.name, there.settings().name, emit)
    return HoppedTo(
        source=settings.name,
        to=there.settings().name,
        from_node=held.node if held else None,
        from_job_id=held.job_id if held else None,
        node=now.node,
        job_id=now.job_id,
        end_time=now.end_time,
        alias=now.alias,
        snapshot=moving.there_snapshot or snapshot,
        sent_bytes=moving.sent_bytes,
        left_behind=left,
    )


def _note(source: str, to: str, emit: Emit) -> None:
    """So that `status` and `up` of the profile that was left say where the work is."""
    forget_move(to)
    try:
        note_move(source, to)
    except OSError as error:
        message = f"that the work is at `{to}` now could not be noted here: {error.strerror}"
        emit(Warned(code="hop.not_noted", message=message))


def of_profile(caller: Caller, profile: str) -> Caller:
    """The same person, asking of another profile."""
    return msgspec.structs.replace(
        caller, asked=msgspec.structs.replace(caller.asked, profile=profile)
    )


def _held(source: Cluster, agrees: Agrees | None = None) -> AllocationShown | None:
    """The job whose node is left; None when there is none, or an earlier run gave it back."""
    shown = source.on_login("jobs open", OpenJobs(detached=True), JobsShown)
    held = [job for job in shown.jobs if job.state in HELD]
    stopped = next((job for job in held if job.state != "running"), None)
    if stopped is not None:
        raise AllocationSuspended(job_id=stopped.job_id, node=stopped.node)
    if agrees is not None:  # at the end `clear` names them once more, and it is too late to ask
        agree_to_what_ends(source.emit, shown.detached, {job.job_id for job in held}, agrees)
    return held[-1] if held else None


class _Moving:
    """From one cluster to the other, and how much was sent."""

    def __init__(self, source: Cluster, there: Caller, emit: Emit, request: Hold) -> None:
        self._source = source
        self._there = there
        self._emit = emit
        self._request = request
        self.sent_bytes = 0
        self.there_snapshot: str | None = None
        """What the workspace there came from: a later one when it is ahead of the one here."""

    def bring_over(
        self, held: AllocationShown | None, *, leave_behind: bool
    ) -> tuple[UpAndRunning, str]:
        """The node there with all that is saved here, and the snapshot that it has."""
        snapshot = self._save(held, leave_behind=leave_behind)
        self.copy([snapshot], require=self._require_no_other_work)
        there = self._there.settings()
        with failures_of(there), self._damage_there():
            remarks = remarks_of(there.name, _without_mended(self._emit))
            now = up(self._there, remarks, self._request, run_editor=False)
        for _ in range(_CATCH_UPS):
            with failures_of(there), self._damage_there():
                self._settle(snapshot)
            again = self._save(held, leave_behind=leave_behind)
            if again == snapshot:
                break
            # Those in between too: the node there knows by them that the later one continues its work.
            self.copy(self._line(again, since=snapshot))
            snapshot = again
        return now, snapshot

    def look(self, held: AllocationShown | None) -> None:
        """Raises what the copy and `up` there would be refused for, and does neither.

        What is wrong with the newest snapshot counts only without a node here: with one, a newer one may be copied.
        """
        to = self._there.settings().name
        newest = None if held and not self._rows() else self._newest()
        parents: dict[str, str] = {}

        def require(offered: SnapshotsOffered, lacking: SnapshotsLacking) -> None:
            parents.update(offered.parents)
            self._require_no_other_work(offered, lacking)

        seen = copy_snapshots(
            self._source.caller,
            Offer(snapshots=(newest,) if newest else ()),
            to,
            self._emit,
            dry_run=True,
            require=require,
        )
        if held is None:
            self._require_copied(seen)
        with failures_of(self._there.settings()):
            remarks = remarks_of(to, _without_mended(self._emit))
            up(self._there, remarks, self._request, run_editor=False)
        self._look_at_workspace(held, newest, parents)

    def _look_at_workspace(
        self, held: AllocationShown | None, newest: str | None, parents: Mapping[str, str]
    ) -> None:
        """Raises what the workspace on a node that is held there would be left alone for."""
        source, there = self._source.settings.name, self._there.settings()
        with cluster_of(there, self._there, remarks_of(there.name, self._emit)) as target:
            with failures_of(there):
                if there.profile.scheduler == "slurm" and _held(target) is None:
                    return
            request = self._foretold_settle(held, newest, parents)
            diverged: ClustersDiverged = UnsavedWouldDiverge(source=source, to=there.name)
            if request.snapshot != _YET_TO_BE_TAKEN:
                diverged = WouldDiverge(source=source, to=there.name, other=newest or "latest")
            with failures_of(there):
                _ask_to_settle(target, request, diverged)

    def _foretold_settle(
        self, held: AllocationShown | None, newest: str | None, parents: Mapping[str, str]
    ) -> Settle:
        """With the snapshot that would be copied: the one that the workspace here equals, or one that is yet to be taken."""
        taken = self._foretold_backup() if held else None
        if taken is None or taken.kind == "unchanged":
            wanted = taken.snapshot if taken else newest
            return Settle(dry_run=True, snapshot=wanted, parents=dict(parents))
        known = {**parents, **({_YET_TO_BE_TAKEN: taken.parent} if taken.parent else {})}
        return Settle(dry_run=True, snapshot=_YET_TO_BE_TAKEN, parents=known)

    @contextmanager
    def _damage_there(self) -> Iterator[None]:
        """An archive that was in the other store already was not read again, and nobody knew that it is damaged."""
        try:
            yield
        except SnapshotDamaged as error:
            source, to = self._source.settings.name, self._there.settings().name
            raise DamagedThere(source=source, to=to, reason=str(error)) from error

    def look_here(self, held: AllocationShown | None, *, leave_behind: bool) -> None:
        """What the last backup here would store; raises what would keep the node."""
        if held is not None:
            copies = foretell_last_backup(self._source, held.job_id, nodes_of(held))
            require_all_saved(self._source, copies, verb=self._verb(), leave_behind=leave_behind)

    def _verb(self) -> str:
        return f"hop --to {self._there.settings().name}"

    def _save(self, held: AllocationShown | None, *, leave_behind: bool) -> str:
        """The newest snapshot here, taken now if there is a node."""
        if held is None:
            return self._newest()
        self._emit(Progress(phase="saving the workspace"))
        copies = save_copies(self._source, held.job_id, nodes_of(held), "before hop")
        for copy in copies:
            require_saved(copy.node, copy.saved, verb=self._verb(), leave_behind=leave_behind)
        return copies[-1].saved.snapshot or self._newest()

    def _newest(self) -> str:
        rows = self._rows()
        newest = [one.id for one in rows if not one.beside] or [one.id for one in rows]
        if not newest:
            next_step = "there is nothing to move; `scratchflow up` makes a workspace"
            raise SnapshotMissing(wanted="latest", next_step=next_step)
        return newest[-1]

    def _rows(self) -> list[SnapshotRow]:
        return self._source.at_workspace("snapshots list", Nothing(), SnapshotsListed).snapshots

    def _line(self, snapshot: str, *, since: str) -> list[str]:
        """The snapshot and those that it came from, up to the one that is there already."""
        parents = {one.id: one.parent for one in self._rows()}
        line: list[str] = []
        at: str | None = snapshot
        while at is not None and at != since and at in parents:
            line.append(at)
            at = parents[at]
        return line

    def _require_no_other_work(self, offered: SnapshotsOffered, lacking: SnapshotsLacking) -> None:
        """OtherWorkThere when the newest snapshot there is of work that is not known here: `up` would take ours for newer."""
        newest, ours = lacking.newest, max((one.id for one in offered.snapshots), default="")
        known = {ours, *offered.parents, *offered.parents.values(), None}
        if not known.isdisjoint({newest, lacking.newest_work}):
            return
        source, to = self._source.settings.name, self._there.settings().name
        if self._would_save():
            raise UnsavedWouldDiverge(source=source, to=to)
        if ours > str(newest):
            raise OtherWorkThere(source=source, to=to, other=ours or "latest", theirs=newest)

    def _would_save(self) -> bool:
        """Whether the run that is only foretold would first take a snapshot here, which is newer than all."""
        if not (self._request.dry_run and _held(self._source)):
            return False
        return self._foretold_backup().kind != "unchanged"

    def _foretold_backup(self) -> BackupTaken:
        request = Backup(dry_run=True, purpose="final")
        return self._source.at_workspace("backup", request, BackupTaken)

    def copy(self, snapshots: Sequence[str], require: Require = lambda *_: None) -> None:
        """Into the other store, as far as it lacks them."""
        done = copy_snapshots(
            self._source.caller,
            Offer(snapshots=tuple(snapshots)),
            self._there.settings().name,
            self._emit,
            require=require,
        )
        self.sent_bytes += done.sent_bytes
        to = self._there.settings().name
        if done.as_full_bytes:
            message = (
                f"the snapshot went over as one full archive, because the store of `{to}` has another archive that it needs;"
                f" run `scratchflow -p {to} backup --full` once when the move is done, and later moves send only what changed"
            )
            self._emit(Log(level="info", message=message))
        self._require_copied(done)

    def _require_copied(self, done: SnapshotsCopied) -> None:
        """Raises what keeps a snapshot out of the other store."""
        source, to = self._source.settings.name, self._there.settings().name
        for damaged in done.damaged:
            reason = "that was found when it was last read"
            raise DamagedAtSource(snapshot=damaged, source=source, reason=reason)
        for what in done.in_the_way.values():
            reason = f"in the store of `{to}`, {what}; look what it is, and move it away there"
            raise HopUnfinished(reason=reason, node=source)
        if done.blocked:
            raise NameTakenThere(source=source, to=to, snapshot=done.blocked[0])

    def _settle(self, snapshot: str) -> None:
        """The workspace there from this snapshot, or from work that came from it."""
        emit = remarks_of(self._there.settings().name, self._emit)
        with cluster_of(self._there.settings(), self._there, emit) as target:
            source, to = self._source.settings.name, self._there.settings().name
            diverged = ClustersDiverged(source=source, to=to, other=snapshot)
            settled = _ask_to_settle(target, Settle(snapshot=snapshot), diverged)
            if settled.restored and settled.restored.safety_snapshot:
                message = f"what was there is saved as snapshot {settled.restored.safety_snapshot}"
                self._emit(Log(level="info", message=message))
            self.there_snapshot = settled.snapshot
            if settled.action == "restored":
                _require_equal(target, settled.snapshot)


def _without_mended(emit: Emit) -> Emit:
    """All but what the move itself mends: that the work is elsewhere, or that the workspace does not continue the newest snapshot."""

    def pass_on(event: Event) -> None:
        if not (isinstance(event, Warned) and event.code in _MENDED):
            emit(event)

    return pass_on


def _ask_to_settle(target: Cluster, request: Settle, diverged: ClustersDiverged) -> Settled:
    """What every node there does; `diverged`, which says what to do on which cluster, when it has other work."""
    try:
        settled = target.at_workspace("settle", request, Settled, node=EVERY_NODE)
    except WorkDiverged:
        raise diverged from None
    for one in settled.failed:
        raise HopUnfinished(reason=f"on `{one.node}`: {one.message}", node=one.node)
    return settled


def _require_equal(target: Cluster, snapshot: str | None) -> None:
    """The node here is given back only when the other one holds what it had."""
    seen = target.at_workspace("backup", Backup(dry_run=True, purpose="final"), BackupTaken)
    if seen.kind != "unchanged" or seen.snapshot != snapshot:
        name = target.settings.name
        reason = f"the workspace of `{name}` does not equal snapshot {snapshot}"
        raise HopUnfinished(reason=reason, node=name)


def _foretold(source: str, to: str) -> HoppedTo:
    return HoppedTo(
        source=source,
        to=to,
        from_node=None,
        from_job_id=None,
        node=None,
        job_id=None,
        end_time=None,
        alias=None,
        snapshot=None,
        commands=[
            f"scratchflow -p {source} backup",
            f"scratchflow -p {source} snapshots copy --to {to}",
            f"scratchflow -p {to} up",
            f"scratchflow -p {source} clear",
        ],
        dry_run=True,
    )
