"""Jobs of profiles that this machine's configuration file does not have: another machine's, or removed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.dispatch.cluster import is_login_host
from scratchflow.model.results.status import ElsewhereShown


def with_cancel(
    held: Sequence[ElsewhereShown], settings: Settings, environment: Mapping[str, str]
) -> list[ElsewhereShown]:
    """Each job whose profile no `-p` finds here, with the command that ends it all the same."""
    way = [] if is_login_host(settings, environment) else ["ssh", settings.profile.login]
    return [
        one
        if one.profile in settings.profiles or one.job_id is None
        else msgspec.structs.replace(one, cancel=" ".join([*way, "scancel", str(one.job_id)]))
        for one in held
    ]
