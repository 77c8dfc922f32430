"""What a login host must have for everything else to work, looked at there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from scratchflow.cluster.slurm_nodes import partitions
from scratchflow.config.settings import Settings
from scratchflow.flows.nodes import this_slurm
from scratchflow.model.errors import ScratchflowError
from scratchflow.model.results import Check, ChecksDone
from scratchflow.store.place import find_place
from scratchflow.workspace.place import expand


def check_login(settings: Settings, environment: Mapping[str, str]) -> ChecksDone:
    """Slurm, tmux and the store, as this host sees them. The scratch is the node's to show."""
    return ChecksDone(
        checks=[
            _check_slurm(settings, environment),
            _check_tmux(settings),
            _check_store(settings, environment),
        ]
    )


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
    return Check(name="slurm", ok=True, detail=f"answers; partitions {', '.join(names)}")


def _check_tmux(settings: Settings) -> Check:
    found = shutil.which("tmux")
    if found:
        return Check(name="tmux", ok=True, detail=found)
    if settings.profile.hold == "detached":
        return Check(name="tmux", ok=True, detail='not there; `hold = "detached"` does without')
    fix = "`scratchflow config set hold detached` does without"
    return Check(name="tmux", ok=False, detail="not there", fix=fix)


def _check_store(settings: Settings, environment: Mapping[str, str]) -> Check:
    store = expand(settings.profile.store, environment)
    try:
        find_place(store, settings.profile.workspace)
    except ScratchflowError as error:
        return Check(name="store", ok=False, detail=str(error), fix=error.shown_hint)
    nearest = _nearest(store)
    if os.access(nearest, os.W_OK | os.X_OK):
        detail = str(store) if nearest == store else f"{store} (will be made)"
        return Check(name="store", ok=True, detail=detail)
    fix = "`scratchflow config set store PATH` with a directory of yours on shared storage"
    return Check(name="store", ok=False, detail=f"`{nearest}` is not yours to write", fix=fix)


def _nearest(path: Path) -> Path:
    """The path itself, or the closest directory above that exists."""
    return next(one for one in (path, *path.parents) if one.is_dir())
