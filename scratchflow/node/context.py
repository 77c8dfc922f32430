"""What a flow that works on this machine knows about where it is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

import msgspec

from scratchflow.cluster.this_host import job_id, node_name, role
from scratchflow.config.settings import Settings
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.errors.store import NoSpace, StoreLocked, StoreOverlaps
from scratchflow.model.errors.workspace import WorkspaceElsewhere
from scratchflow.model.profile import Profile
from scratchflow.model.requests import StoreSeen
from scratchflow.model.text import printable
from scratchflow.store.commit.reserve import free_reserve
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.lock.owner import this_process
from scratchflow.workspace.job_scratch import goes_with_job, noted_scratch
from scratchflow.workspace.lock import alone_with
from scratchflow.workspace.path_names import is_of_the_account, names_to_find
from scratchflow.workspace.staging import sweep_incoming
from scratchflow.workspace.workspace import (
    STATE_NAME,
    Workspace,
    expand,
    find_workspace,
    workspace_as_written,
)

# A backup that meets another one waits for it: both are wanted.
LOCK_WAIT_S = 120


class NodeContext(msgspec.Struct, frozen=True):
    """The profile's workspace and store on this machine, and the time and chance flows use."""

    settings: Settings
    workspace: Workspace
    store: Path
    node: str
    job_id: int | None
    # Slurm's name of that job, asked for when it is needed; empty when nobody says.
    job_name: Callable[[], str] = lambda: ""
    # What the login host sees, when it is the one that asks.
    store_seen: StoreSeen | None = None
    # What was sent along with the request.
    received: Iterator[bytes] | None = None
    now: Callable[[], datetime] = msgspec.field(default=lambda: datetime.now(timezone.utc))
    monotonic: Callable[[], float] = time.monotonic
    token: Callable[[int], str] = lambda size: os.urandom(size).hex()
    is_job_over: Callable[[int], bool] = lambda _: False
    # When Slurm ends this job at the latest, asked just now, in seconds since 1970; None when nobody knows.
    job_end_s: Callable[[], float | None] = lambda: None

    @property
    def profile(self) -> Profile:
        """The profile in force."""
        return self.settings.profile

    @property
    def where_files_are_copied(self) -> str:
        """The end of a sentence about adding files by hand: without a cluster the workspace is a directory here."""
        if self.profile.scheduler == "none":
            return f"into `{printable(self.workspace.path)}`"
        there = printable(f"{self.profile.alias}:{self.workspace.path}")
        return f"with `scp` or `rsync` to `{there}`"

    @property
    def scratch_goes_with_job(self) -> bool:
        """Whether everything on scratch is removed when the job ends: the snapshots are all that is left."""
        return goes_with_job(self.profile.scratch, str(self.workspace.scratch), self.job_id)

    def lock(
        self,
        place: StoreDirectory,
        doing: str,
        *,
        wait_s: float = LOCK_WAIT_S,
        remark: Callable[[str], None] = lambda _: None,
    ) -> StoreLock:
        """The store's lock, taken; a context manager. Having to wait is worth a remark."""
        lock = StoreLock(
            place,
            this_process(),
            token=self.token(16),
            doing=doing,
            job_id=self.job_id,
            is_job_over=self.is_job_over,
        )
        try:
            return lock.acquired()
        except StoreLocked as error:
            if not wait_s:
                raise
            remark(f"{error}; waiting for it")
        return lock.acquired(wait_s=wait_s, remark=remark)

    def lock_when_full(
        self, place: StoreDirectory, doing: str, *, remark: Callable[[str], None]
    ) -> StoreLock:
        """The same. On a full disk there is room for it once the reserve is given up; NoSpace when that is not enough."""
        with suppress(NoSpace):
            return self.lock(place, doing, remark=remark)
        free_reserve(place)
        return self.lock(place, doing, remark=remark)

    @contextmanager
    def alone(self, remark: Callable[[str], None]) -> Iterator[None]:
        """This machine's scratchflows take turns at the workspace; leftovers go first."""
        busy = f"another scratchflow is at work on `{self.workspace.path}`; waiting for it"
        with alone_with(self.workspace, wait_s=LOCK_WAIT_S, on_wait=lambda: remark(busy)):
            sweep_incoming(self.workspace)
            yield


def node_context(
    settings: Settings,
    environment: Mapping[str, str],
    *,
    needs_scratch: bool = True,
    job_name: str = "",
    store_seen: StoreSeen | None = None,
    received: Iterator[bytes] | None = None,
    scratch: str = "",
) -> NodeContext:
    """These settings on this machine; refused when their workspace is needed and lies elsewhere.

    `job_name` is the name of the job that this process is in, as whoever asks knows it from Slurm. `scratch`
    is where the job has it; without it, what is noted for the job, then its environment.
    """
    workspace = _workspace(settings, environment, scratch, needed=needs_scratch)
    if needs_scratch and not _is_on_this_machine(settings.profile, workspace, environment):
        raise WorkspaceElsewhere(profile=settings.name, scratch=workspace.scratch)
    store = expand(settings.profile.store, environment)
    _refuse_overlap(workspace, store)
    return NodeContext(
        settings=settings,
        workspace=workspace,
        store=store,
        node=node_name(environment),
        job_id=job_id(environment),
        job_name=_names_job(settings.profile, environment, job_name),
        store_seen=store_seen,
        received=received,
        is_job_over=_asks_slurm(settings.profile, environment),
        job_end_s=_asks_end(settings.profile, environment),
    )


def _names_job(profile: Profile, environment: Mapping[str, str], given: str) -> Callable[[], str]:
    """The job's name as Slurm has it. `srun` may put another one into the environment of its steps."""
    number = job_id(environment)

    @cache
    def name() -> str:
        if number is None or profile.scheduler != "slurm":
            return ""
        if given:
            return given
        from scratchflow.cluster.slurm.client import this_slurm
        from scratchflow.cluster.slurm.jobs import name_of

        try:
            return name_of(this_slurm(environment), number)
        except SlurmUnreachable:
            return ""

    return name


def _workspace(
    settings: Settings, environment: Mapping[str, str], scratch: str, *, needed: bool
) -> Workspace:
    profile = settings.profile
    if scratch or is_of_the_account(profile.scratch) or profile.scheduler == "none":
        return find_workspace(profile, environment, scratch=scratch)
    number, node = job_id(environment), node_name(environment)
    noted = noted_scratch(expand("~", environment), settings.name, profile.scratch, number, node)
    if not needed and not noted:  # on the login host, for instance
        return workspace_as_written(profile)
    where = f"in job {number} on `{node}`" if number is not None else ""
    known = environment if noted else _as_in_a_shell(profile.scratch, environment)
    return find_workspace(profile, known, scratch=noted, where=where)


def _as_in_a_shell(path: str, environment: Mapping[str, str]) -> Mapping[str, str]:
    """The job's environment as the user's shells have it: with what a login shell on the node adds."""
    missing = names_to_find(path, environment)
    if not missing:
        return environment
    from scratchflow.cluster.command import local_run
    from scratchflow.cluster.login_path import with_login_names

    return {**environment, **with_login_names(environment, missing, local_run(environment))}


def _asks_slurm(profile: Profile, environment: Mapping[str, str]) -> Callable[[int], bool]:
    """Whether Slurm is sure that a job has ended; without an answer it may go on."""

    def is_over(number: int) -> bool:
        from scratchflow.cluster.slurm.client import this_slurm
        from scratchflow.cluster.slurm.jobs import has_ended

        try:
            return has_ended(this_slurm(environment), number)
        except SlurmUnreachable:
            return False

    return is_over if profile.scheduler == "slurm" else lambda _: False


def _asks_end(profile: Profile, environment: Mapping[str, str]) -> Callable[[], float | None]:
    """When the job ends that this process is in; without an answer, what Slurm said when it began."""
    number = job_id(environment)

    def end_s() -> float | None:
        from scratchflow.cluster.slurm.client import this_slurm
        from scratchflow.cluster.slurm.jobs import end_of, end_when_begun

        if number is None:
            return None
        try:
            return end_of(this_slurm(environment), number)
        except SlurmUnreachable:
            return end_when_begun(environment)

    return end_s if profile.scheduler == "slurm" else lambda: None


def _refuse_overlap(workspace: Workspace, store: Path) -> None:
    """A store inside what it saves would save itself, again and again."""
    kept = Path(os.path.realpath(store / workspace.name))
    for root in [*workspace.roots, STATE_NAME]:
        path = Path(os.path.realpath(workspace.scratch / root))
        if kept.is_relative_to(path) or path.is_relative_to(kept):
            raise StoreOverlaps(store=kept, root=path)
    for root in workspace.roots:
        if root.split("/")[0] == STATE_NAME:
            raise StoreOverlaps(store=STATE_NAME, root=root)


def _is_on_this_machine(
    profile: Profile, workspace: Workspace, environment: Mapping[str, str]
) -> bool:
    """A node of a job has its scratch. So has a plain ssh session on one, where Slurm says nothing."""
    if profile.scheduler == "none" or role(environment) == "node":
        return True
    return os.path.isdir(workspace.scratch)
