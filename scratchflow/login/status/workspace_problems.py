"""What `status` warns of in the workspace itself: it is gone, under another name, half of two states, or behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from scratchflow.login.host import LoginHost
from scratchflow.login.status.store import is_here
from scratchflow.model.allocation import Allocation
from scratchflow.model.errors.workspace import WorkspaceAtFormerScratch, WorkspaceIsLink
from scratchflow.model.results.status import Problem, WorkspaceShown
from scratchflow.model.text import printable
from scratchflow.node.environment.missing import (
    ENVIRONMENT_MISSING,
    directory_of,
    missing_in_words,
    missing_layer,
)
from scratchflow.node.renamed import all_renamed, on_scratch, ways_out
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import Heartbeat
from scratchflow.store.retention.newer import newer_elsewhere
from scratchflow.workspace.workspace import expand, link_seen


def half_restored(restoring: str) -> Iterator[Problem]:
    """A restore that has changed the workspace and is not through; `restoring` is its snapshot."""
    if restoring:
        yield Problem(
            name="restore.incomplete",
            detail=f"the restore of {restoring} has not finished: the workspace is half of two"
            " states, and no backup is taken of it",
            fix="if it does not run any more, `scratchflow restore` finishes it, and"
            " `scratchflow restore --abandon` leaves the workspace as it is",
        )


def at_former_scratch(error: WorkspaceAtFormerScratch | None) -> Iterator[Problem]:
    """The profile's scratch was changed while a node is held."""
    if error is not None:
        yield Problem(
            name=error.code,
            detail=str(error).removesuffix("; nothing was done"),
            fix=error.shown_hint,
        )


def workspace_gone(workspace: WorkspaceShown, held: Allocation | None) -> Iterator[Problem]:
    """Only the auto-backup of a job says so: it was started because there was a workspace."""
    if workspace.exists is False and held and held.job_id is not None:
        yield Problem(
            name="workspace.missing",
            detail=f"`{workspace.path}` is not on `{held.node}` any more",
            fix=f"if it was renamed, `ls {quote(str(Path(workspace.path).parent))}` there shows it, and `mv` gives it"
            " its name back; `scratchflow restore` brings the last snapshot back",
        )


def workspace_renamed(
    login: LoginHost,
    held: Allocation | None,
    heartbeat: Heartbeat | None,
    *,
    is_there: bool,
) -> Iterator[Problem]:
    """Directories that were the workspace under its name. On another machine its auto-backup sees them."""
    there = login.workspace_of(held)
    if is_here(login.settings, login.environment, held):
        found = all_renamed(there, expand(login.profile.store, login.environment))
    else:
        found = [Path(one) for one in heartbeat.renamed] if heartbeat else []
    for path in found:
        # Beside the workspace; where scratch itself is, this host need not know.
        scratch = path.parents[there.name.count("/")]
        back = on_scratch(scratch, "mv", str(path.relative_to(scratch)), there.name)
        fix = f"`{printable(back)}` gives it its name back; `scratchflow restore` brings the last snapshot beside it"
        yield Problem(
            name="workspace.renamed",
            detail=f"`{printable(path)}` was the workspace until it was renamed, and nothing saves it",
            fix=ways_out(scratch, path) if is_there else fix,
        )


def workspace_linked(
    login: LoginHost, held: Allocation | None, heartbeat: Heartbeat | None
) -> Iterator[Problem]:
    """A symlink in place of the workspace: no backup can be taken. On another machine its auto-backup sees it."""
    if is_here(login.settings, login.environment, held):
        link = link_seen(login.workspace_of(held))
    else:
        link = heartbeat.workspace_link if heartbeat else ""
    if link:
        error = WorkspaceIsLink(path=link)
        yield Problem(name=error.code, detail=str(error), fix=error.shown_hint)


def environment_missing(
    login: LoginHost, held: Allocation | None, heartbeat: Heartbeat | None, *, is_there: bool
) -> Iterator[Problem]:
    """A workspace without the profile's venv or conda environment. On another machine its auto-backup sees it."""
    layers, layer, node = login.profile.environment, "", held.node if held else None
    if is_here(login.settings, login.environment, held):
        layer = missing_layer(layers, login.workspace_of(held).scratch)
    elif heartbeat and heartbeat.missing_layer:
        # It may have been started with other settings than those of now.
        is_meant = directory_of(layers, heartbeat.missing_layer) == heartbeat.missing_path
        layer = heartbeat.missing_layer if is_meant else ""
    if layer and is_there:
        detail, fix = missing_in_words(login.profile, layer, node or login.host)
        yield Problem(name=ENVIRONMENT_MISSING, detail=detail, fix=fix)


def workspace_behind(
    workspace: WorkspaceShown, place: StoreDirectory, catalogue: Catalogue
) -> Iterator[Problem]:
    """A copy that an earlier job left, or one beside which work went on on another node."""
    base = workspace.base_snapshot
    newer = newer_elsewhere(place, catalogue, base) if base else None
    if newer:
        yield Problem(
            name="workspace.behind",
            detail=f"the workspace came from snapshot {base} and does not continue the newest one, {newer}",
            fix="`scratchflow restore` brings the newest one, and saves first what is there;"
            " the next backup of a change makes what is there the newest,"
            " `scratchflow backup -m MESSAGE` does that now",
        )
