"""Where the mirror of a profile is, and the rclone that reaches it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from scratchflow.cluster.command import local_run
from scratchflow.cluster.login_path import with_login_names
from scratchflow.cluster.rclone.remote import Remote, beneath
from scratchflow.config.settings import Settings
from scratchflow.model.errors.transfer import MirrorUnset, RcloneMissing
from scratchflow.workspace.workspace import expand


def remote_of(settings: Settings, environment: Mapping[str, str] = os.environ) -> Remote:
    """The directory of the profile's workspace on its mirror; MirrorUnset or RcloneMissing."""
    options = settings.profile.backup
    if not options.mirror:
        raise MirrorUnset(profile=settings.name)
    name = options.rclone or "rclone"
    if "/" in name:
        name = str(expand(name, environment))
    program, known = _found(name, environment)
    if not program:
        reason = "there is no such program" if "/" in name else "it is not on the PATH"
        raise RcloneMissing(program=name, reason=reason)
    directory = beneath(options.mirror, settings.profile.workspace)
    return Remote(directory=directory, program=program, environment=known)


def _found(name: str, environment: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """The program, and the PATH of a login shell where it is only on that."""
    program = shutil.which(name, path=environment.get("PATH"))
    if program or "/" in name:
        return program or "", environment
    known = {**environment, **with_login_names(environment, ["PATH"], local_run(environment))}
    return shutil.which(name, path=known.get("PATH")) or "", known
