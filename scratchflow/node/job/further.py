"""The further nodes of a job with several: each has a copy of its own, and what is made there is saved as well.

The task on the first node starts one step on all others (`FurtherNodes`); each of its processes (`job further`) restores,
says so, and collects now and then, until the first one closes its input or Slurm ends the job.
"""

from __future__ import annotations

import math
import os
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from scratchflow.agent.name import agent_command
from scratchflow.agent.request import asking, encode
from scratchflow.agent.stream import Garbled, parse_line
from scratchflow.cluster.slurm.batch.further import further_argv, further_environment
from scratchflow.model.errors.jobs import JobMissing, JobNotStarted
from scratchflow.model.events import Failure, Log, Summary
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import FurtherJob
from scratchflow.model.results.jobs import FurtherEnded
from scratchflow.node.context import NodeContext
from scratchflow.node.job.collect import Collected, Collector
from scratchflow.node.job.command import JobSignals
from scratchflow.node.job.copies import (
    CopyMark,
    in_use,
    inode_of,
    mark_copy,
    open_copy,
    remove_copy,
    taken_over,
)
from scratchflow.node.job.leftovers import rest_collector
from scratchflow.node.job.own_copy import OwnCopy
from scratchflow.node.progress import Notifier
from scratchflow.store.directory import find_place
from scratchflow.store.jobs.outputs import keep_aside
from scratchflow.store.jobs.records import job_directory, read_job, read_task

READY = "the copy is there"
END_S = 20.0
"""How long the others may take to save what is left, after they were told."""
_LAST_WORD_S = 5.0


class FurtherNodes:
    """The other nodes as the task on the first one sees them."""

    def __init__(self, here: NodeContext, copy: OwnCopy, nodes: Sequence[str]) -> None:
        self._here, self._copy, self.nodes = here, copy, list(nodes)
        self._process: subprocess.Popen[bytes] | None = None
        self._said: queue.Queue[Log | Failure | None] = queue.Queue()
        self._ended: list[FurtherEnded] = []
        self._listener: threading.Thread | None = None

    def begin(self) -> None:
        """Starts the step; the copies are made while this node makes its own."""
        arguments = FurtherJob(
            job=self._copy.record.id, task=self._copy.task, target=str(self._copy.target)
        )
        settings = self._here.settings
        request = asking(
            "job further",
            msgspec.to_builtins(arguments),
            profile_name=settings.name,
            profile=to_plain(settings.profile),
        )
        line = encode(msgspec.structs.replace(request, store_seen=self._here.store_seen))
        self._process = subprocess.Popen(
            further_argv(self.nodes, agent_command()),
            env=further_environment(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()
        with suppress(BrokenPipeError):
            self._input.write(line)
            self._input.flush()

    def wait_until_ready(self) -> None:
        """Until every node has its copy; JobNotStarted when one cannot."""
        for _ in self.nodes:
            said = self._said.get()
            if not isinstance(said, Log):
                reason = said.message if said else "the step on them ended"
                nodes = ", ".join(self.nodes)
                raise JobNotStarted(job=self._copy.record.id, reason=f"on {nodes}: {reason}")

    def end(self) -> list[FurtherEnded]:
        """Lets them save what is left; what each has saved."""
        if self._process is None:
            return []
        with suppress(OSError):
            self._input.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        self._process.terminate()
        if self._listener is not None:
            self._listener.join(_LAST_WORD_S)
        return self._ended

    @property
    def _input(self) -> IO[bytes]:
        if self._process is None or self._process.stdin is None:
            raise RuntimeError("not begun")
        return self._process.stdin

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdout is not None:
            with process.stdout as lines:
                for raw in lines:
                    self._hear(raw)
        self._said.put(None)

    def _hear(self, raw: bytes) -> None:
        try:
            event = parse_line(raw).event
        except Garbled:
            return
        if isinstance(event, Summary):
            self._ended.append(msgspec.convert(event.data, FurtherEnded))
        elif isinstance(event, Failure) or (isinstance(event, Log) and event.message == READY):
            self._said.put(event)


def run_further(here: NodeContext, notify: Notifier, asked: FurtherJob) -> FurtherEnded:
    """On a further node: restores, says so, and collects until the end."""
    place = find_place(here.store, here.workspace.name)
    record = read_job(place, asked.job)
    if record is None:
        raise JobMissing(wanted=asked.job, detail="")
    copy = OwnCopy(Path(asked.target), record, asked.task)
    outputs = job_directory(place, asked.job).outputs(asked.task, here.node)
    open_copy(copy.target)
    with taken_over(copy.target) as is_left:
        if is_left:
            _save_what_was_left(copy, outputs)
    restarts = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
    keep_aside(outputs, max(restarts, 1))
    copy.restore(here, notify)
    first = read_task(place, asked.job, asked.task)
    running = msgspec.structs.replace(first, phase="running") if first else None
    store, inode = str(place.directory), inode_of(copy.work)
    mark_copy(copy.target, CopyMark(here.node, restarts, store, record, running, inode))
    collector = Collector(copy.work, outputs, record.collect)
    copy.environment(
        here, os.environ
    )  # the file of its parameters, and what is computed once for a job
    signals = JobSignals()
    with in_use(copy.target), signals.caught():
        notify.emit(Log(level="info", message=READY))
        _collect_until_the_end(collector, signals, here.profile.backup.every.seconds)
    open_copy(copy.target)
    found = collector.collect(is_last=True)
    if not found.failed:
        with suppress(OSError):
            remove_copy(copy.target)
    return _what_it_saved(here.node, found)


def _collect_until_the_end(collector: Collector, signals: JobSignals, every_s: float) -> None:
    """Until the first node closes our input: its command has ended everywhere. After Slurm's SIGTERM it has a while for that."""
    until_s = math.inf
    while not signals.hung_up and time.monotonic() < until_s:
        signals.arrived.wait(min(every_s, until_s - time.monotonic()))
        if signals.ends and until_s == math.inf:
            until_s = time.monotonic() + END_S
        collector.collect()


def _save_what_was_left(copy: OwnCopy, outputs: Path) -> None:
    left = rest_collector(copy.target, copy.record, outputs).collect()
    if left.failed:
        reason = f"what an earlier run of it had left in `{copy.target}` could not be saved: {left.failed[0]}"
        raise JobNotStarted(job=copy.record.id, reason=reason)
    remove_copy(copy.target)


def _what_it_saved(node: str, found: Collected) -> FurtherEnded:
    return FurtherEnded(
        node=node,
        collected_files=found.files,
        collected_bytes=found.bytes,
        not_collected=[f"{node}: {line}" for line in found.failed],
    )
