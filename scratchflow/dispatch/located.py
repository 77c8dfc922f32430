"""The profile with its store as this host of the cluster has it: `$PROJECT/x` becomes a path.

What is asked of a node carries that path, so that both hosts mean the same directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from scratchflow.config.settings import Settings

if TYPE_CHECKING:
    from scratchflow.cluster.command import Run


def with_store_found(
    settings: Settings, environment: Mapping[str, str], run: Run | None = None
) -> Settings:
    """The settings with the names in `store` put in; PathNameUnset when the login shell does not set one.

    `$USER` and `$HOME` stay: they are the same on every host.
    """
    store = settings.profile.store
    if "$" not in store:  # nearly always: nothing has to be loaded
        return settings
    from scratchflow.workspace.path_names import is_of_the_account, names_to_find
    from scratchflow.workspace.workspace import expand

    if is_of_the_account(store):
        return settings
    missing = names_to_find(store, environment)
    if missing:
        from scratchflow.cluster.command import local_run
        from scratchflow.cluster.login_path import with_login_names

        environment = with_login_names(environment, missing, run or local_run(environment))
    profile = msgspec.structs.replace(settings.profile, store=str(expand(store, environment)))
    return msgspec.structs.replace(settings, profile=profile)
