"""What a login host must have for everything else to work, looked at there."""

from __future__ import annotations

import os
import pwd
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from scratchflow.cluster.command import command_environment, local_run
from scratchflow.cluster.logout import logout_kills
from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.cluster.slurm.nodes import partitions
from scratchflow.cluster.slurm.overlap import srun_version
from scratchflow.cluster.this_host import job_id, node_name
from scratchflow.config.settings import Settings
from scratchflow.login.host import LoginHost
from scratchflow.login.status.mirror import behind_in_words, mirror_behind, mirror_shown
from scratchflow.model.allocation import Partition
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.workspace import (
    ScratchUnsafe,
    UnsavedAtFormerScratch,
    WorkspaceAtFormerScratch,
    WorkspaceIsLink,
    WorkspaceRenamed,
)
from scratchflow.model.events import Checked, Emit, Progress
from scratchflow.model.requests import Look, Nothing
from scratchflow.model.results.checks import Check, ChecksDone
from scratchflow.model.text import printable
from scratchflow.model.time_limit import slurm_time, time_limit_s
from scratchflow.model.units import format_size
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.missing import missing_in_words, missing_layer
from scratchflow.node.former_scratch import require_at_scratch
from scratchflow.node.mirror.target import remote_of
from scratchflow.node.progress import Notifier
from scratchflow.node.renamed import refuse_renamed
from scratchflow.node.same_store import require_same_store
from scratchflow.node.snapshot.allowed import refuse_links
from scratchflow.process.parallel import as_done
from scratchflow.reach.node import steps_overlap
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.freshness import watch
from scratchflow.store.checks.probe import probe_store
from scratchflow.store.checks.writable import write_failure
from scratchflow.store.directory import find_place
from scratchflow.store.failures import translated
from scratchflow.store.identity import read_store_id
from scratchflow.store.known import store_lost
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.notes import noted_base, read_base, read_restoring
from scratchflow.workspace.own_scratch import require_own_scratch
from scratchflow.workspace.probe import probe_scratch
from scratchflow.workspace.workspace import Workspace, expand, find_workspace

JobName = Callable[[], str]
_SILENT = Look()


def check_login(login: LoginHost, asked: Look = _SILENT) -> ChecksDone:
    """Slurm, tmux and the store, as this host sees them, all at once. The scratch is the node's to show."""
    looks = _looks(login.settings, login.environment)
    found: dict[str, list[Check]] = {}
    for name, checks in as_done(looks):
        found[name] = checks
        if asked.tells:
            _tell(login.emit, checks, [other for other in looks if other not in found])
    return ChecksDone(checks=[check for name in looks for check in found[name]])


def _tell(emit: Emit, checks: Sequence[Check], awaited: Sequence[str]) -> None:
    for check in checks:
        emit(Checked(name=check.name, ok=check.ok, detail=check.detail, fix=check.fix))
    if awaited:
        emit(Progress(phase=f"checking {', '.join(awaited)}"))


def _looks(
    settings: Settings, environment: Mapping[str, str]
) -> dict[str, Callable[[], list[Check]]]:
    """What there is to look at, in the order in which it is shown."""
    has_slurm = settings.profile.scheduler == "slurm"
    looks: dict[str, Callable[[], list[Check]]] = {}
    if has_slurm:
        looks["slurm"] = lambda: _check_slurm_and_steps(settings, environment)
    looks["tmux"] = lambda: [_check_tmux(settings)]
    looks["store"] = lambda: _check_store(settings, environment)
    if settings.profile.backup.mirror:
        looks["mirror"] = lambda: [_check_mirror(settings, environment)]
    if not has_slurm:
        workspace = find_workspace(settings.profile, environment)
        looks["scratch"] = lambda: _check_scratch(workspace)
        node = node_name(environment)
        looks["workspace"] = lambda: [
            _check_workspace(settings, environment, workspace),
            *_check_environment(settings, workspace, node),
        ]
    elif settings.profile.hold == "tmux":
        looks["logout"] = lambda: [_check_logout(environment)]
    return looks


def _check_slurm_and_steps(settings: Settings, environment: Mapping[str, str]) -> list[Check]:
    slurm = _check_slurm(settings, environment)
    return [slurm, _check_steps(environment)] if slurm.ok else [slurm]


def check_node(
    at_node: NodeContext, _: Notifier, __: Nothing, environment: Mapping[str, str] = os.environ
) -> ChecksDone:
    """The scratch and the workspace, on the node that has them; the store as it is seen from there."""
    settings, node = at_node.settings, at_node.node
    context = Check(name="node", ok=True, detail=f"`{node}` runs what it is asked to")
    store, *limits = _check_store(settings, environment)
    store = _check_same_store(at_node, store)
    return ChecksDone(
        checks=[
            context,
            msgspec.structs.replace(store, detail=f"{store.detail}, as seen from `{node}`"),
            *limits,
            *(_check_freshness(at_node) if store.ok else []),
            *_check_scratch(at_node.workspace),
            _check_place(at_node)
            or _check_workspace(settings, environment, at_node.workspace, at_node.job_name),
            *_check_environment(settings, at_node.workspace, node),
        ]
    )


def _check_freshness(at_node: NodeContext) -> list[Check]:
    """A check only if the node sees the login host's writes late."""
    seen = at_node.store_seen
    if seen is None or not seen.grows or os.path.basename(seen.grows) != seen.grows:
        return []
    place = find_place(at_node.store, at_node.workspace.name)
    return _limits(place.directory, watch(place.directory / seen.grows).limits(seen.host))


def _limits(path: Path, lacks: Sequence[str]) -> list[Check]:
    """One line for each thing that the file system there lacks."""
    return [Check(name="limits", ok=True, detail=f"{path}: {words}") for words in lacks]


def _check_mirror(settings: Settings, environment: Mapping[str, str]) -> Check:
    """Whether the mirror answers, and what it lacks."""
    mirror, now_s = settings.profile.backup.mirror, time.time()
    try:
        remote_of(settings, environment).listed()
        store = expand(settings.profile.store, environment)
        place = find_place(store, settings.profile.workspace)
        shown = mirror_shown(mirror, place, read_catalogue(place))
    except ScratchflowError as error:
        return Check(name="mirror", ok=False, detail=str(error), fix=error.shown_hint)
    for problem in mirror_behind(shown, now_s):
        return Check(name="mirror", ok=False, detail=problem.detail, fix=problem.fix)
    detail = f"{mirror} answers"
    if shown and shown.missing and shown.looked_time:
        detail += f"; {behind_in_words(shown, now_s)}"
    return Check(name="mirror", ok=True, detail=detail)


def _check_same_store(at_node: NodeContext, store: Check) -> Check:
    """The check of the store, which fails also when it is not the one that it should be."""
    try:
        # First: a mount that is lost leaves a directory in which other things are wrong, too.
        require_same_store(at_node)
    except ScratchflowError as error:
        return _failed_store(error)
    if not store.ok:
        return store
    same = ", the same as on the login host" if at_node.store_seen else ""
    return msgspec.structs.replace(store, detail=f"{store.detail}{same}")


def _check_scratch(workspace: Workspace) -> list[Check]:
    scratch = workspace.scratch
    try:
        require_own_scratch(workspace)
    except ScratchUnsafe as error:
        return [Check(name="scratch", ok=False, detail=str(error), fix=error.shown_hint)]
    nearest = _nearest(scratch)
    fix = "`scratchflow config set scratch PATH` with a directory of yours on the node's own disk"
    if not os.access(nearest, os.W_OK | os.X_OK):
        detail = f"`{nearest}` is not yours to write"
        return [Check(name="scratch", ok=False, detail=detail, fix=fix)]
    try:
        found = probe_scratch(nearest)
    except OSError as error:
        detail = f"`{nearest}` cannot be written ({error.strerror})"
        return [Check(name="scratch", ok=False, detail=detail, fix=fix)]
    limits = _limits(nearest, found.limits())
    if dangers := found.dangers():
        detail = "; ".join([str(scratch), *dangers])
        return [Check(name="scratch", ok=False, detail=detail, fix=fix), *limits]
    free = shutil.disk_usage(nearest).free
    made = "" if nearest == scratch else " (will be made)"
    detail = f"{scratch}{made}, {format_size(free)} free"
    return [Check(name="scratch", ok=True, detail=detail), *limits]


def _check_workspace(
    settings: Settings,
    environment: Mapping[str, str],
    workspace: Workspace,
    job_name: JobName = lambda: "",
) -> Check:
    restoring = read_restoring(workspace)
    if restoring is not None:
        detail = f"a restore of {restoring.snapshot} did not finish"
        return Check(
            name="workspace",
            ok=False,
            detail=detail,
            fix="`scratchflow restore`, or `scratchflow restore --abandon`",
        )
    base = read_base(workspace, expand(settings.profile.store, environment))
    if not os.path.isdir(workspace.path):
        was = base or _recorded(settings, environment, job_name)
        return _missing_workspace(workspace, was)
    try:
        refuse_links(workspace.scratch, workspace.roots)
    except WorkspaceIsLink as error:  # there it is, and no backup can be taken of it
        return Check(name="workspace", ok=False, detail=str(error), fix=error.shown_hint)
    # The store's record is what `status` tells from the login host; the notes here may be of another store.
    base = base or _recorded(settings, environment, job_name)
    elsewhere = noted_base(workspace)
    if base:
        equals = f", from snapshot {base}"
    elif elsewhere:
        equals = f", from snapshot {elsewhere.snapshot} of another store, {elsewhere.store}"
    else:
        equals = ", in no snapshot yet"
    return Check(name="workspace", ok=True, detail=f"{workspace.path}{equals}")


def _check_place(at_node: NodeContext) -> Check | None:
    """A check only if this job has the workspace where scratch was before it was changed, or under another name."""
    try:
        require_at_scratch(at_node)
        refuse_renamed(at_node)
    except (WorkspaceAtFormerScratch, UnsavedAtFormerScratch, WorkspaceRenamed) as error:
        return Check(name="workspace", ok=False, detail=str(error), fix=error.shown_hint)
    except ScratchflowError:  # of a store that cannot be read: its own check says so
        return None
    return None


def _check_environment(settings: Settings, workspace: Workspace, node: str) -> list[Check]:
    """A check only if a workspace is there without the venv or conda environment of the profile."""
    layer = missing_layer(settings.profile.environment, workspace.scratch)
    if not layer or not os.path.isdir(workspace.path):
        return []
    detail, fix = missing_in_words(settings.profile, layer, node)
    return [Check(name="environment", ok=False, detail=detail, fix=fix)]


def _missing_workspace(workspace: Workspace, was: str | None) -> Check:
    """Fails if the workspace was here before: our notes say so, or the record of this job."""
    if was:
        detail = f"{workspace.path} is not there any more; it was snapshot {was}"
        fix = "`scratchflow restore` brings it back"
        return Check(name="workspace", ok=False, detail=detail, fix=fix)
    fix = "`scratchflow restore` brings it here, `scratchflow create` makes a new one"
    return Check(name="workspace", ok=True, detail=f"{workspace.path} is not there yet", fix=fix)


def _recorded(settings: Settings, environment: Mapping[str, str], job_name: JobName) -> str | None:
    """The snapshot that this job restored or saved on this node."""
    job, node = job_id(environment), node_name(environment)
    if job is None:
        return None
    try:
        store = expand(settings.profile.store, environment)
        records = read_nodes(find_place(store, settings.profile.workspace))
    except ScratchflowError:
        return None
    here = [one for one in records if one.node == node and one.job_id == job]
    return next((one.snapshot for one in here if one.is_of(job, job_name())), None)


def _check_logout(environment: Mapping[str, str]) -> Check:
    user = pwd.getpwuid(os.getuid()).pw_name
    kills = logout_kills(local_run(command_environment(environment)), user)
    if kills:
        fix = "`scratchflow config set hold detached`: then the job outlives tmux"
        detail = "this host ends your tmux when you log out, and the job with it"
        return Check(name="logout", ok=False, detail=detail, fix=fix)
    detail = "tmux outlives a logout" if kills is False else "there is no logind to ask"
    return Check(name="logout", ok=True, detail=detail)


def _check_slurm(settings: Settings, environment: Mapping[str, str]) -> Check:
    try:
        found = partitions(this_slurm(environment))
    except ScratchflowError as error:
        return Check(name="slurm", ok=False, detail=str(error), fix=error.shown_hint)
    names = [partition.name for partition in found]
    wanted = settings.profile.slurm.partition
    if wanted and wanted not in names:
        fix = f"`scratchflow config set slurm.partition NAME`; there are {', '.join(names)}"
        return Check(name="slurm", ok=False, detail=f"there is no partition `{wanted}`", fix=fix)
    too_long = _too_long(settings, found)
    if too_long:
        return too_long
    return Check(name="slurm", ok=True, detail=f"answers; partitions {', '.join(names)}")


def _check_steps(environment: Mapping[str, str]) -> Check:
    """How backups and restores reach the node (job step or ssh), and why."""
    try:
        overlap = steps_overlap(environment)
        version = printable(srun_version(this_slurm(environment)))
    except ScratchflowError as error:
        return Check(name="steps", ok=False, detail=str(error), fix=error.shown_hint)
    if overlap:
        detail = f"onto the node with `srun --overlap` ({version})"
        return Check(name="steps", ok=True, detail=detail)
    detail = f"onto the node over ssh: `srun` ({version}) knows no `--overlap`"
    fix = "`ssh NODE` on the login host has to work without a question"
    return Check(name="steps", ok=True, detail=detail, fix=fix)


def _too_long(settings: Settings, found: list[Partition]) -> Check | None:
    """Whether `slurm.time` exceeds the partition's limit: some sites let such a job wait for ever."""
    options = settings.profile.slurm
    chosen = [one for one in found if one.name == options.partition or not options.partition]
    partition = next((one for one in chosen if options.partition or one.default), None)
    wanted_s = time_limit_s(options.time)
    if partition is None or partition.max_time_s is None or wanted_s is None:
        return None
    if wanted_s <= partition.max_time_s:
        return None
    longest = slurm_time(partition.max_time_s)
    return Check(
        name="slurm",
        ok=False,
        detail=f"partition `{partition.name}` gives {longest} at most, not {options.time}",
        fix=f"`scratchflow config set slurm.time {longest}`{_longer_partition(found, wanted_s)}",
    )


def _longer_partition(found: list[Partition], wanted_s: float) -> str:
    """One that gives as much, if there is one."""
    for one in found:
        if one.up and (one.max_time_s is None or one.max_time_s >= wanted_s):
            gives = "any time" if one.max_time_s is None else slurm_time(one.max_time_s)
            return f", or `scratchflow config set slurm.partition {one.name}`, which gives {gives}"
    return ""


def _check_tmux(settings: Settings) -> Check:
    found = shutil.which("tmux")
    if found:
        return Check(name="tmux", ok=True, detail=found)
    if settings.profile.scheduler == "none":
        fix = "install tmux; only `allocate` and `attach` need it"
        return Check(name="tmux", ok=False, detail="not there", fix=fix)
    if settings.profile.hold == "detached":
        return Check(name="tmux", ok=True, detail='not there; `hold = "detached"` does without')
    fix = "`scratchflow config set hold detached` does without"
    return Check(name="tmux", ok=False, detail="not there", fix=fix)


def _check_store(settings: Settings, environment: Mapping[str, str]) -> list[Check]:
    """The store, and a line for each thing that its file system lacks."""
    store = expand(settings.profile.store, environment)
    mirror = settings.profile.backup.mirror
    try:
        place = find_place(store, settings.profile.workspace)
        read_store_id(place)  # backups stop where it cannot be read
        lost = store_lost(expand("~", environment), place, node_name(environment), mirror=mirror)
    except ScratchflowError as error:
        return [_failed_store(error)]
    if lost is not None:
        return [_failed_store(lost)]
    nearest = _nearest(store)
    if nearest == store:
        failed = write_failure(store)
        return [_failed_store(failed)] if failed else _check_abilities(store)
    if os.access(nearest, os.W_OK | os.X_OK):
        return [Check(name="store", ok=True, detail=f"{store} (will be made)")]
    fix = "`scratchflow config set store PATH` with a directory of yours on shared storage"
    return [Check(name="store", ok=False, detail=f"`{nearest}` is not yours to write", fix=fix)]


def _failed_store(error: ScratchflowError) -> Check:
    return Check(name="store", ok=False, detail=str(error), fix=error.shown_hint)


def _check_abilities(store: Path) -> list[Check]:
    """What the store's file system lacks. Fails only for what the safety of snapshots needs."""
    try:
        found = probe_store(store)
    except OSError as error:
        return [_failed_store(translated(error, store))]
    limits = _limits(store, found.limits())
    detail = "; ".join([str(store), *found.dangers()])
    fix = (
        ""
        if found.is_safe
        else "set `store` to another file system, or never run two backups at once"
    )
    return [Check(name="store", ok=found.is_safe, detail=detail, fix=fix), *limits]


def _nearest(path: Path) -> Path:
    """The path itself, or the closest directory above that exists."""
    return next(one for one in (path, *path.parents) if os.path.isdir(one))
