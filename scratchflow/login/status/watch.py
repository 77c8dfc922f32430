"""`watch`, on the login host: a `status` event whenever something changed, and at least about once a minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from scratchflow.login.host import LoginHost
from scratchflow.login.status.copy_looks import CopyLooks
from scratchflow.login.status.idle import KnownCatalogue, is_idle, pause, signs_of
from scratchflow.login.status.status import look
from scratchflow.login.status.usage import UsageLooks
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.events import Status
from scratchflow.model.requests import ShowStatus, Watch
from scratchflow.model.results.status import Problem, StatusShown
from scratchflow.store.checks.writable import WriteTrial
from scratchflow.store.heartbeats import Pulses

AT_LEAST_EVERY_S = 60.0
# These pass by themselves, second by second: they are no news.
_PASSING = {"seconds_left", "last_age_s", "age_s", "oldest_check_s", "seen_time"}


def watch(login: LoginHost, request: Watch) -> StatusShown:
    """Runs until the reader is gone: the end of our input interrupts it."""
    last: StatusShown | None = None
    sent: Any = None
    sent_at = float("-inf")
    pulses, trial, copies, usage = Pulses(), WriteTrial(), CopyLooks(), UsageLooks()
    looked = partial(
        look,
        login,
        ShowStatus(usage=request.usage),
        pulses=pulses,
        trial=trial,
        copies=copies,
        usage=usage,
        catalogue=KnownCatalogue(),
    )
    while True:
        last = _seen(looked, last)
        news = _without_passing(msgspec.to_builtins(last))
        if news != sent or time.monotonic() - sent_at >= AT_LEAST_EVERY_S:
            login.emit(Status(data=msgspec.to_builtins(last)))
            sent, sent_at = news, time.monotonic()
        pause(lambda: signs_of(login), request.every_s, idle=is_idle(last))


def _seen(looked: Callable[[], StatusShown], last: StatusShown | None) -> StatusShown:
    """The status now. If slurmctld does not answer, that is shown as a problem."""
    try:
        return looked()
    except SlurmUnreachable as error:
        if last is None:
            raise
        problem = Problem(name=error.code, detail=str(error), fix=error.shown_hint)
        others = [one for one in last.problems if one.name != error.code]
        return msgspec.structs.replace(last, problems=[*others, problem])


def _without_passing(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_passing(value) for key, value in data.items() if key not in _PASSING}
    return data
