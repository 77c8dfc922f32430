"""`submit`: freeze the workspace, then hand the job to the login host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from scratchflow.cluster.slurm.batch.names import means_another
from scratchflow.config.settings import FLAG
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.errors.jobs import JobInDoubt, SubmitCutShort
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.events import Emit, Log
from scratchflow.model.requests import Freeze, RerunJob, Submit
from scratchflow.model.results.jobs import Frozen, Submitted
from scratchflow.model.text import printable
from scratchflow.process.interrupted import Interrupted

_SHOWN_LETTERS = 60


def submit(caller: Caller, emit: Emit, asked: Submit) -> Submitted:
    """Submits the job from the workspace as it is now; without a node from the newest snapshot, which is told."""
    settings = caller.settings()
    if settings.profile.scheduler != "slurm":
        raise SchedulerMissing(profile=settings.name)
    _require_reachable(asked.name)
    given = [key for key, origin in settings.origins.items() if origin == FLAG]
    keys = tuple(key.removeprefix("slurm.") for key in given if key.startswith("slurm."))
    asked = msgspec.structs.replace(asked, given=keys)
    with cluster_of(settings, caller, emit) as cluster:
        has_talked = not asked.snapshot
        wanted = Freeze(dry_run=asked.dry_run, script=asked.script, directory=asked.directory)
        frozen = _frozen(cluster, wanted) if has_talked else None
        if frozen is not None:
            asked = _from(frozen, asked)
        what = asked.name or " ".join(asked.command) or asked.script
        with _saying_what_is_in_doubt(what, dry_run=asked.dry_run, has_talked=has_talked):
            done = cluster.on_login("submit", asked, Submitted)
    return _with_source(frozen, done)


def _require_reachable(name: str) -> None:
    """Only a name that was chosen: that of a program or a script's own line may be anything."""
    if means_another(name):
        shown = printable(name)
        problem = (
            f"a job cannot be named `{shown}`: numbers, also with a task as in `6_1`, and `last` mean other jobs;"
            f" choose a name with a word in it, like `run-{shown}`"
        )
        raise UsageInvalid(problem=problem, command="scratchflow submit")


def _from(frozen: Frozen, asked: Submit) -> Submit:
    return msgspec.structs.replace(
        asked,
        snapshot=frozen.snapshot or "",
        git=frozen.git,
        unsaved_script=frozen.script,
        unsaved_directory=frozen.has_directory,
    )


def _with_source(frozen: Frozen | None, done: Submitted) -> Submitted:
    saves_first = frozen is not None and frozen.snapshot is None
    return msgspec.structs.replace(done, is_current=frozen is not None, saves_first=saves_first)


def rerun(caller: Caller, emit: Emit, asked: RerunJob) -> Submitted:
    """`jobs rerun`: a job once more, from its own snapshot."""
    with cluster_of(caller.settings(), caller, emit, once=True) as cluster:
        return cluster.on_login("jobs rerun", asked, Submitted)


def rerun_current(caller: Caller, emit: Emit, asked: RerunJob) -> Submitted:
    """`jobs rerun --current`: a job once more, from the workspace as it is now."""
    with cluster_of(caller.settings(), caller, emit) as cluster:
        frozen = _frozen(cluster, Freeze(dry_run=asked.dry_run))
        if frozen is None or not frozen.snapshot:
            asked = msgspec.structs.replace(asked, newest=True)
        else:
            asked = msgspec.structs.replace(asked, snapshot=frozen.snapshot, git=frozen.git)
        with _saying_what_is_in_doubt(asked.wanted, dry_run=asked.dry_run, has_talked=True):
            done = cluster.on_login("jobs rerun", asked, Submitted)
    return _with_source(frozen, done)


@contextmanager
def _saying_what_is_in_doubt(job: str, *, dry_run: bool, has_talked: bool) -> Iterator[None]:
    """Cut off while the login host submits, Slurm may have the job: whoever tries again could get two.

    A host with which nobody `has_talked` yet may never have been reached: then the error is told as it is.
    """
    try:
        yield
    except Interrupted as interrupted:
        if dry_run:
            raise
        raise SubmitCutShort(interrupted.signum) from interrupted
    except ConnectionLost as error:
        if dry_run or not has_talked:
            raise
        raise JobInDoubt(job=job[:_SHOWN_LETTERS], reason=str(error)) from error


def _frozen(cluster: Cluster, asked: Freeze) -> Frozen | None:
    try:
        return cluster.at_workspace("freeze", asked, Frozen)
    except (AllocationMissing, WorkspaceMissing):
        message = "no workspace is on a node now: the job runs from the newest snapshot"
        cluster.emit(Log(level="info", message=message))
        return None
