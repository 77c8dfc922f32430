"""Somebody stands in the workspace of this machine's own profile, and asks for something of a cluster's."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.config.settings import LOCAL, PROFILE_VARIABLE, Asked, Settings, load_settings
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.events import Emit, Warned
from scratchflow.model.text import printable
from scratchflow.workspace.workspace import find_workspace


def warn_in_local_workspace(
    settings: Settings, asked: Asked, environment: Mapping[str, str], emit: Emit
) -> None:
    """Says that it is done elsewhere, unless a profile was named: "nothing changed" would be taken for what is here."""
    if settings.profile.scheduler == "none" or asked.profile or environment.get(PROFILE_VARIABLE):
        return
    # A profile `local` that is no use, or a directory that is gone, has no workspace to stand in.
    with suppress(ScratchflowError, OSError):
        local = load_settings(msgspec.structs.replace(asked, profile=LOCAL), environment)
        here = Path.cwd()
        if here.is_relative_to(find_workspace(local.profile, environment).path):
            message = (
                f"`{here}` is in the workspace of profile `{LOCAL}`, and this is done for profile `{settings.name}`;"
                f" `scratchflow -p {LOCAL}` is for what is here"
            )
            emit(Warned(code="workspace.of_local", message=printable(message)))
