"""What a flow that works on this machine knows about where it is."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from scratchflow.cluster.whereami import job_id, node_name, role
from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.model.errors import WorkspaceElsewhere
from scratchflow.model.events import Emit, Log
from scratchflow.model.profile import Profile
from scratchflow.store.lock import StoreLock
from scratchflow.store.owner import this_process
from scratchflow.store.place import Place
from scratchflow.workspace.place import Workspace, expand, find_workspace

# A backup that meets another one waits for it: both are wanted.
LOCK_WAIT_S = 120


@dataclass(frozen=True)
class Here:
    """The profile's workspace and store on this machine, and the time and chance flows use."""

    settings: Settings
    workspace: Workspace
    store: Path
    node: str
    job_id: int | None
    now: Callable[[], datetime] = field(default=lambda: datetime.now(timezone.utc))
    monotonic: Callable[[], float] = time.monotonic
    token: Callable[[int], str] = secrets.token_hex

    @property
    def profile(self) -> Profile:
        """The profile in force."""
        return self.settings.profile

    def lock(self, place: Place, doing: str, *, wait_s: float = LOCK_WAIT_S) -> StoreLock:
        """The store's lock, taken; a context manager."""
        lock = StoreLock(
            place, this_process(), token=self.token(16), doing=doing, job_id=self.job_id
        )
        return lock.acquired(wait_s=wait_s)


def find_here(asked: Asked, environment: Mapping[str, str], emit: Emit) -> Here:
    """The profile on this machine; refused when its workspace lies on another one."""
    settings = load_settings(asked, environment)
    if not settings.exists:
        emit(
            Log(
                level="info",
                message="no configuration file yet; using the built-in profile `local`",
            )
        )
    return here_with(settings, environment)


def here_with(settings: Settings, environment: Mapping[str, str]) -> Here:
    """These settings on this machine; refused when their workspace lies on another one."""
    workspace = find_workspace(settings.profile, environment)
    if not _is_on_this_machine(settings.profile, workspace, environment):
        raise WorkspaceElsewhere(profile=settings.name, scratch=workspace.scratch)
    return Here(
        settings=settings,
        workspace=workspace,
        store=expand(settings.profile.store, environment),
        node=node_name(environment),
        job_id=job_id(environment),
    )


def _is_on_this_machine(
    profile: Profile, workspace: Workspace, environment: Mapping[str, str]
) -> bool:
    """A node of a job has its scratch. So has a plain ssh session on one, where Slurm says nothing."""
    if profile.scheduler == "none" or role(environment) == "node":
        return True
    return os.path.isdir(workspace.scratch)
