"""`job tail`: what a task prints, read on its own node, where it shows at once."""

from __future__ import annotations

import os
from pathlib import Path

from scratchflow.model.events import Data
from scratchflow.model.requests import TailLogs
from scratchflow.model.results.jobs import LogRead
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock
from scratchflow.store.directory import find_place
from scratchflow.store.jobs.records import job_directory, read_task

LOOK_S = 0.3
_PIECE_BYTES = 1 << 18


def tail(
    here: NodeContext, notify: Notifier, asked: TailLogs, clock: Clock = SYSTEM_CLOCK
) -> LogRead:
    """Sends what is there, and with `follow` what comes, until the task has written down its end or has been queued again."""
    place = find_place(here.store, here.workspace.name)
    where = job_directory(place, asked.job)
    output = Reader(where.output(asked.task), asked.output_from)
    error = Reader(where.output(asked.task, error=True), asked.error_from, is_error=True)
    readers = [error] if asked.only_error else [output, error]
    while True:
        task = read_task(place, asked.job, asked.task)
        ended = task is not None and task.phase == "ended"
        for reader in readers:  # after the look at the record: its end is the last that was printed
            reader.send(notify)
        is_between = task is not None and task.phase == "requeued"
        if ended or is_between or not asked.follow:
            return LogRead(ended=ended)
        clock.sleep(LOOK_S)


class Reader:
    """One of the two files, from a position on."""

    def __init__(self, file: Path, position: int, *, is_error: bool = False) -> None:
        self._file, self.position, self._is_error = file, position, is_error

    def send(self, notify: Notifier) -> None:
        """Sends all that is there by now; a file that is not there yet is empty."""
        try:
            descriptor = os.open(self._file, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return
        try:
            while piece := os.pread(descriptor, _PIECE_BYTES, self.position):
                self.position += len(piece)
                notify.emit(Data(content=piece, is_error=self._is_error))
        finally:
            os.close(descriptor)
