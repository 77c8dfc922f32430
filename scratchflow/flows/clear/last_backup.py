"""The last backup of a job's nodes, before they are given back: taken or foretold, and what it could not hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from scratchflow.dispatch.cluster import Cluster
from scratchflow.dispatch.every_node import fork_warning
from scratchflow.flows.clear.whose_workspace import holder_of
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    NodeFailed,
    NodeNotSaved,
    OtherNodeFailed,
)
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.events import Emit, Log, Progress, Warned
from scratchflow.model.requests import SaveNode
from scratchflow.model.results.backup import BackupTaken, NodeSaved
from scratchflow.model.results.status import AllocationShown, ElsewhereShown
from scratchflow.model.text import counted
from scratchflow.model.units import format_size
from scratchflow.workspace.job_scratch import goes_with_job

_NAMED = 5
_FORETOLD_BESIDE = SaveNode(beside=True, dry_run=True)
NO_WORKSPACE = "there is no workspace on the node: nothing to back up"


class SavedCopy(msgspec.Struct, frozen=True):
    """What was saved of one node; `beside` when it is not the first of its job, `left` when its job is not the one worked in."""

    node: str
    saved: NodeSaved
    beside: bool = False
    left: bool = False

    @property
    def is_fork(self) -> bool:
        """Whether its snapshot holds what only this node had. Of a job that was left, an earlier backup may have taken it."""
        if self.beside:
            return self.saved.stored
        snapshot, newer = self.saved.snapshot or "", self.saved.newer
        return self.left and newer is not None and snapshot > newer  # ids sort by time


def nodes_of(job: AllocationShown) -> list[str]:
    """Its nodes; the first one is that of the workspace."""
    return job.nodes or [str(job.node)]


def backup_commands(job_id: int | None, nodes: Iterable[str]) -> list[str]:
    """The backups of a job's nodes, for a dry run: in the order in which they are taken."""
    return [f"scratchflow backup (job {job_id} on {node})" for node in nodes]


def foretell_last_backup(
    cluster: Cluster, job_id: int | None, nodes: Sequence[str]
) -> list[SavedCopy]:
    """For a dry run: says what the last backup of each node would store, and raises what would keep it from being taken."""
    cluster.emit(Progress(phase="looking at the workspace"))
    first, *others = nodes
    copies = [_ask_beside(cluster, job_id, node, _FORETOLD_BESIDE) for node in others]
    request = SaveNode(dry_run=True)
    saved = cluster.at_workspace("save node", request, NodeSaved, job_id=job_id)
    copies.append(SavedCopy(first, saved))
    own = cluster.settings.profile.workspace
    for copy in copies:
        for words in foretold_words(copy, own, name_node=bool(others)):
            cluster.emit(Log(level="info", message=words))
    return copies


def foretold_words(copy: SavedCopy, own: str, *, name_node: bool) -> Iterator[str]:
    """What the last backup of a node would store: of the profile's own workspace in any case, of others if there is anything."""
    where = f" of `{copy.node}`" if name_node else ""
    foretold = copy.saved.foretold
    if own not in foretold:
        yield (
            f"there is no workspace on `{copy.node}`: nothing to back up" if where else NO_WORKSPACE
        )
    for name, seen in foretold.items():
        if name == own:
            yield foretold_of_own(seen, copy.node if name_node else "")
        elif seen.kind != "unchanged":
            yield f"the last backup{where} would save workspace `{name}`: {_changes(seen)}"


def foretold_of_own(seen: BackupTaken, node: str = "") -> str:
    """What the last backup would store of the profile's own workspace; with the node, where there are several."""
    if seen.kind != "unchanged":
        where = f" of `{node}`" if node else ""
        return f"the last backup{where} would save the workspace: {_changes(seen)}"
    on_node = f" on `{node}`" if node else ""
    return f"nothing changed{on_node} since snapshot {seen.snapshot}"


def _changes(seen: BackupTaken) -> str:
    changes = [f"{counted(seen.changed_files, 'file')} ({format_size(seen.changed_bytes)}) changed"]
    if seen.moved_files:
        changes.append(f"{counted(seen.moved_files, 'file')} copied or moved")
    if seen.removed_files:
        changes.append(f"{counted(seen.removed_files, 'file')} removed")
    return ", ".join(changes)


def save_copies(
    cluster: Cluster,
    job_id: int | None,
    nodes: Sequence[str],
    message: str,
    *,
    left: bool = False,
    fork: bool = False,
) -> list[SavedCopy]:
    """Saves every node of a job. The first comes last: its copy is what the next `up` brings.

    What only another node has becomes a fork, and so does that of a job that was `left`, unless it continues the newest
    work and need not be a `fork`. Nothing of the copies is merged.
    """
    first, *others = nodes
    copies: list[SavedCopy] = []
    try:
        for node in others:
            copies.append(_save_beside(cluster, job_id, node, message))  # noqa: PERF401 - those before a failure are told
        request = SaveNode(message=message, left=left, beside=fork)
        saved = cluster.at_workspace("save node", request, NodeSaved, job_id=job_id)
    except (AllocationEnded, AllocationMissing, NodeFailed):
        _tell_forks(cluster, copies)
        if others:
            _tell_not_saved(cluster, [*others[len(copies) :], first])
        raise
    copies.append(SavedCopy(first, saved, left=left and not fork))
    _tell_forks(cluster, copies)
    return copies


def _tell_not_saved(cluster: Cluster, nodes: Sequence[str]) -> None:
    """The job ended while its nodes were saved: what may still be on those that this command did not come to."""
    names = ", ".join(f"`{node}`" for node in nodes)
    fate = "stays on that node's disk, and the next `scratchflow up` that gets the node saves it"
    if goes_with_job(cluster.settings.profile.scratch, "", None):
        fate = "is gone with the job"
    message = (
        f"the job ended before this command had saved {names}. The auto-backup there takes a last snapshot when the job"
        f" ends (`scratchflow snapshots list`); what is in none {fate}"
    )
    cluster.emit(Warned(code="nodes.not_saved", message=message))


def looked_at_again(
    cluster: Cluster, job_id: int | None, copies: Sequence[SavedCopy], message: str
) -> list[SavedCopy]:
    """The further nodes once more: what was written there while the others were saved is saved by nobody else.

    On the first node the auto-backup takes a last snapshot when the job ends.
    """
    found = []
    for copy in copies:
        if copy.beside:
            again = _save_beside(cluster, job_id, copy.node, message)
            _tell_forks(cluster, [again])
            found.append(_together(copy, again))
        else:
            found.append(copy)
    return found


def _together(before: SavedCopy, again: SavedCopy) -> SavedCopy:
    """The state now, with the snapshot of whichever look stored something; the later one holds both."""
    if again.saved.stored or not before.saved.stored:
        return again
    saved = msgspec.structs.replace(again.saved, stored=True, snapshot=before.saved.snapshot)
    return msgspec.structs.replace(again, saved=saved)


def _tell_forks(cluster: Cluster, copies: Sequence[SavedCopy]) -> None:
    for node, fork in forks_of(copies).items():
        cluster.emit(fork_warning(node, fork))


def _save_beside(cluster: Cluster, job_id: int | None, node: str, message: str) -> SavedCopy:
    return _ask_beside(
        cluster, job_id, node, SaveNode(message=f"{message}, of {node}", beside=True)
    )


def _ask_beside(cluster: Cluster, job_id: int | None, node: str, request: SaveNode) -> SavedCopy:
    try:
        saved = cluster.at_workspace("save node", request, NodeSaved, job_id=job_id, node=node)
    except (AllocationEnded, AllocationMissing, NodeFailed):
        raise
    except ScratchflowError as error:
        raise OtherNodeFailed.because_of(node, error) from error
    return SavedCopy(node, saved, beside=True)


def forks_of(copies: Sequence[SavedCopy]) -> dict[str, str]:
    """The snapshots of what only one of the other nodes had, by node."""
    return {one.node: one.saved.snapshot for one in copies if one.saved.snapshot and one.is_fork}


def require_saved(node: str | None, saved: NodeSaved, *, verb: str, leave_behind: bool) -> None:
    """Refuses to give a node back while files on it are in no snapshot, unless that is wanted."""
    if saved.unsaved and not leave_behind:
        count, paths = counted(saved.unsaved, "path"), _named(saved)
        ways = "; ".join(saved.unsaved_ways) or "save or delete them"
        raise NodeNotSaved(node=node, count=count, paths=paths, verb=verb, ways=ways)


def require_all_saved(
    cluster: Cluster, copies: Sequence[SavedCopy], *, verb: str, leave_behind: bool
) -> None:
    """The same for all nodes; says what goes with them if that is wanted."""
    for copy in copies:
        require_saved(copy.node, copy.saved, verb=verb, leave_behind=leave_behind)
    for copy in copies:
        warn_of_loss(cluster.emit, copy.node, copy.saved)


def warn_of_loss(emit: Emit, node: str | None, saved: NodeSaved) -> None:
    """Says what goes with the node."""
    if saved.unsaved:
        count = counted(saved.unsaved, "path")
        many = ("go with the job", "stay behind")
        one = ("goes with the job", "stays behind")
        fate = (one if saved.unsaved == 1 else many)[0 if saved.goes_with_job else 1]
        message = f"{count} on `{node}` {fate}, in no snapshot: {_named(saved)}"
        emit(Warned(code="release.left_behind", message=message))


def tell_excluded(
    emit: Emit, copies: Sequence[SavedCopy], elsewhere: Sequence[ElsewhereShown] = ()
) -> None:
    """What does not come along: because it lies beside the workspace, or a pattern keeps it out of snapshots."""
    for copy in copies:
        if copy.saved.other_files:
            named = ", ".join(f"`{one}`" for one in copy.saved.other_files[:_NAMED])
            more = ", …" if len(copy.saved.other_files) > _NAMED else ""
            message = f"no backup saves what lies beside the workspace on `{copy.node}`: {named}{more}; `backup.also` names what is saved with it"
            emit(Log(level="info", message=message))
        if copy.saved.debug_copies:
            emit(Log(level="info", message=_debug_words(copy, holder_of(copy.node, elsewhere))))
    patterns = list(dict.fromkeys(one for copy in copies for one in copy.saved.excluded))
    if not patterns:
        return
    named = ", ".join(f"`{one}`" for one in patterns[:_NAMED])
    more = ", …" if len(patterns) > _NAMED else ""
    nodes = ", ".join(f"`{copy.node}`" for copy in copies if copy.saved.excluded)
    is_gone = any(copy.saved.goes_with_job for copy in copies)
    fate = "goes with the job" if is_gone else f"stays on {nodes}"
    message = f"excluded ({named}{more}): what matches is in no snapshot, and {fate}"
    emit(Log(level="info", message=message))


def _debug_words(copy: SavedCopy, holder: str) -> str:
    made = copy.saved.debug_copies
    named = ", ".join(f"`{one}`" for one in made[:_NAMED]) + (", …" if len(made) > _NAMED else "")
    fate = (
        "goes with the job"
        if copy.saved.goes_with_job
        else f"stays on its scratch; profile `{holder}` still holds that node, and `scratchflow -p {holder} run` can remove it"
        if holder
        else "stays on its scratch; remove it when you have that node again"
    )
    return f"what `jobs debug` made on `{copy.node}` is in no snapshot and {fate}: {named}"


def _named(saved: NodeSaved) -> str:
    paths = ", ".join(f"`{path}`" for path in saved.unsaved_paths[:_NAMED])
    return f"{paths}, …" if saved.unsaved > _NAMED else paths
