"""`logs`: what a task printed, to this terminal's stdout and stderr as it was."""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from scratchflow.dispatch.cluster import Caller, cluster_of
from scratchflow.model.errors.jobs import LogsCutShort
from scratchflow.model.events import Data, Emit, Event
from scratchflow.model.requests import ReadLogs
from scratchflow.model.results.jobs import LogsShown
from scratchflow.process.interrupted import Interrupted
from scratchflow.report.output import STDERR, write_stdout
from scratchflow.report.question import question_open


def show_logs(caller: Caller, emit: Emit, asked: ReadLogs, *, keep: bool) -> LogsShown:
    """Writes what comes as it comes; with `keep` it is part of the result instead."""
    kept: dict[bool, list[bytes]] = {False: [], True: []}

    def hear(event: Event) -> None:
        if not isinstance(event, Data):
            emit(event)
        elif keep:
            kept[event.is_error].append(event.content)
        elif event.is_error:
            with suppress(OSError):
                _write_error(event.content)
        else:
            write_stdout(event.content)

    try:
        with question_open(emit), cluster_of(caller.settings(), caller, hear) as cluster:
            done = cluster.on_login("logs", asked, LogsShown)
    except Interrupted as interrupted:
        raise LogsCutShort(interrupted.signum) from interrupted
    output, error = (b"".join(kept[name]).decode("utf-8", "replace") for name in (False, True))
    return msgspec.structs.replace(done, output=output, error=error)


def _write_error(content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(STDERR, rest) :]
