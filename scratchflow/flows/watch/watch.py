"""`status --watch`: the picture of `status` again whenever it changed, for hours."""

from __future__ import annotations

import msgspec

from scratchflow.agent.name import agent_name
from scratchflow.cluster.this_host import job_id, role
from scratchflow.config.settings import Settings
from scratchflow.dispatch.cluster import Caller, cluster_of
from scratchflow.flows.status import warn_of_the_end, with_alias
from scratchflow.flows.watch.share import Show, watch_shared
from scratchflow.flows.watch.shared_answer import SharedAnswer, answer_directory
from scratchflow.model.errors.config import ConfigBadValue
from scratchflow.model.events import Emit, Event, Status
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import Watch
from scratchflow.model.results.status import StatusShown


def watch(caller: Caller, emit: Emit, every_s: float, *, usage: bool = False) -> StatusShown:
    """What `status` shows, over one connection, as `status` events whenever something changed, until interrupted.

    Of all watches of this user on this machine with the same settings, one asks the cluster.
    """
    settings = caller.settings()
    asked = Watch(every_s=every_s, usage=usage)
    warned: set[int] = set()

    def show(seen: StatusShown) -> None:
        shown = with_alias(settings, seen, caller)
        emit(Status(data=msgspec.to_builtins(shown)))
        warn_of_the_end(shown, emit, warned)

    def ask(pass_on: Show) -> StatusShown:
        def passed_on(event: Event) -> None:
            if isinstance(event, Status):
                pass_on(msgspec.convert(event.data, StatusShown))
            else:
                emit(event)

        with cluster_of(settings, caller, emit) as cluster:
            return cluster.on_login("watch", asked, StatusShown, emit=passed_on)

    return watch_shared(_shared_answer(settings, caller, asked), ask, show, emit)


def _shared_answer(settings: Settings, caller: Caller, asked: Watch) -> SharedAnswer | None:
    """Shared by those that would be answered the same: this very scratchflow, with these settings, on this machine."""
    environment = caller.environment
    key = [
        *(agent_name(), settings.name, to_plain(settings.profile), str(settings.path)),
        *(environment.get("HOME", ""), role(environment), job_id(environment), asked),
    ]
    try:
        return SharedAnswer(answer_directory(), key)
    except (OSError, ConfigBadValue):
        return None
