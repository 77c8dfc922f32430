"""The end of a set-up: a real node, for those who want to see it work at once."""

from __future__ import annotations

import msgspec

from scratchflow.dispatch.cluster import Caller
from scratchflow.flows.setup.asking import Asker
from scratchflow.flows.up import up
from scratchflow.model.events import Emit
from scratchflow.model.requests import Hold
from scratchflow.model.results.setup import ClusterSetUp

QUESTION = "Take a node now and start working (`scratchflow up`)?"


def go_on_working(
    caller: Caller, emit: Emit, done: ClusterSetUp, asker: Asker, *, wanted: bool | None
) -> ClusterSetUp:
    """Does what `up` does if it is wanted; a person is asked once, after something was saved.

    Enter is a no: a node costs, and whoever types `setup` may only want to prepare.
    """
    is_news = bool(done.config_diff or done.ssh_config_diff)
    if wanted is None and asker.can_ask and is_news and not done.dry_run:
        wanted = asker.confirm(QUESTION, default=False)
    if not wanted or done.dry_run:
        return done
    asked = msgspec.structs.replace(caller.asked, profile=done.profile, overrides=())
    ready = msgspec.structs.replace(caller, asked=asked)
    request = Hold(wait_s=ready.settings().profile.wait.seconds)
    return msgspec.structs.replace(done, up=up(ready, emit, request, run_editor=False))
