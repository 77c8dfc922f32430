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
    path = str(expand(store, environment))
    if "$" in path or not path.isprintable():
        from scratchflow.model.errors.config import ConfigBadValue
        from scratchflow.model.text import printable

        # Whoever gets it next would take a `$` for one more name, and mean another directory.
        problem = f"`{store}` is `{printable(path)}` on the login host; `$` and control characters cannot be in a path"
        raise ConfigBadValue(key="store", origin="profile", problem=problem)
    profile = msgspec.structs.replace(settings.profile, store=path)
    return msgspec.structs.replace(settings, profile=profile)
