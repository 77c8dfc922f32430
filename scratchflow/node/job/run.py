"""`job run`: a submitted job on its node, from the restored snapshot to the record of its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.cluster.slurm.batch.early_signal import early_signal
from scratchflow.cluster.slurm.batch.requeue import own_name, requeue, signal_steps
from scratchflow.cluster.slurm.batch.script import ERROR_FD, OUTPUT_FD
from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.jobs import JobMissing, JobNotStarted
from scratchflow.model.errors.run import LayerFailed
from scratchflow.model.job import JobRecord
from scratchflow.model.profile import Profile
from scratchflow.model.requests import RunJob
from scratchflow.model.results.jobs import JobRan
from scratchflow.model.text import counted
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.missing import why_a_job_lacks_it
from scratchflow.node.job.collect import Collector
from scratchflow.node.job.command import (
    BeforeLimit,
    JobSignals,
    NotBegun,
    Started,
    cannot_interpret,
    cannot_start,
    job_argv,
    run_to_end,
)
from scratchflow.node.job.copies import (
    CopyMark,
    in_use,
    inode_of,
    mark_copy,
    open_copy,
    remove_copy,
    take_over_mark,
    taken_over,
)
from scratchflow.node.job.further import FurtherNodes
from scratchflow.node.job.leftovers import (
    has_said_its_end,
    place_for_earlier,
    place_for_later,
    rest_collector,
    save_leftovers,
)
from scratchflow.node.job.limit_clock import LimitClock
from scratchflow.node.job.own_copy import OwnCopy
from scratchflow.node.job.own_record import OwnRecord, first_words
from scratchflow.node.job.place import job_place
from scratchflow.node.progress import Notifier
from scratchflow.process.git import state_of
from scratchflow.process.interrupted import Interrupted
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.jobs.given_up import GivenUp
from scratchflow.store.jobs.outputs import keep_aside
from scratchflow.store.jobs.records import (
    job_directory,
    read_job,
    read_present,
    read_task,
    write_present,
)

_OWN_SHARE = 0.6
"""Of the time between signal and time limit: this much is the command's, the rest is for saving and queueing again."""
_BY_SIGTERM = 128 + signal.SIGTERM
_ALSO_HEARD_S = 3.0
"""When Slurm ends a job, its steps may get SIGTERM so much earlier than the batch script. A command that was killed otherwise waits in vain."""


def run_job(here: NodeContext, notify: Notifier, asked: RunJob) -> JobRan:
    """Restores, runs, collects, and writes how it went. Its exit code is the command's."""
    place = find_place(here.store, here.workspace.name)
    record = read_job(place, asked.job)
    if record is None:
        raise JobMissing(wanted=asked.job, detail="")
    return _Task(here, notify, place, record, os.environ).run(overlap=asked.overlap)


def before_limit(
    record: JobRecord, continued: int, end_s: Callable[[], float | None]
) -> BeforeLimit | None:
    """What the command gets before the time limit. One that goes on has to end in time for what it made to be saved."""
    if not record.signal:
        return None
    early = early_signal(record.signal)
    goes_on = continued < record.continues
    within_s = early.seconds * _OWN_SHARE if goes_on else None
    limit = LimitClock(early.seconds, end_s)
    return BeforeLimit(signal.Signals[f"SIG{early.name}"], limit, within_s)


def _removal(copy: GivenUp) -> str:
    return f"what job {copy.shown or copy.job} had left on {copy.node}: it was given up by `jobs prune`"


def _why_not(
    error: ScratchflowError | OSError, profile: Profile, target: Path, record: JobRecord
) -> str:
    """In words for whoever submitted it: an environment cannot be made there."""
    if isinstance(error, JobNotStarted):
        return str(error.fields["reason"])
    if isinstance(error, LayerFailed) and error.lies_beneath_scratch:
        path = str(error.fields["name"])
        if not os.path.lexists(target / path):
            job = str(record.number or record.id)
            return f"{error}; {why_a_job_lacks_it(profile, path, job)}"
    return str(error)


class _Task:
    """One task of a job."""

    def __init__(
        self,
        here: NodeContext,
        notify: Notifier,
        place: StoreDirectory,
        record: JobRecord,
        environment: Mapping[str, str],
    ) -> None:
        self._here, self._notify, self._place = here, notify, place
        self._record, self._environment = record, environment
        self.number = int(environment.get("SLURM_ARRAY_TASK_ID") or 0)
        self._target = job_place(here.workspace, environment, record.id, self.number)
        self._copy = OwnCopy(self._target, record, self.number)
        self._work = self._copy.work
        self._outputs = job_directory(place, record.id).outputs(self.number)
        earlier = read_task(place, record.id, self.number)
        self._was_here_last = earlier is None or earlier.node == here.node
        self._has_said_its_end = earlier is not None and has_said_its_end(earlier)
        # Its copy was removed then: what is there now is not what the task had at its end.
        not_collected = earlier.not_collected if earlier else []
        self._was_removed = self._has_said_its_end and not not_collected
        # A task that can go on begins with what an earlier run of it has made, whyever that ended.
        self._goes_on = earlier is not None and record.continues > 0
        self._earlier_run = earlier.restarts + 1 if earlier else 1
        first = first_words(here, environment, self.number, self._target, earlier)
        self._own = OwnRecord(here, place, record, first)
        # Whether the copy holds nothing that is not in the store: before the command runs, and after all was collected.
        self._is_saved = True
        # Whether it was to go on in another run, and could not.
        self._is_refused = False

    def run(self, *, overlap: bool) -> JobRan:
        signals = JobSignals()
        with signals.caught_before_the_command():
            return self._run(signals, overlap=overlap)

    def _run(self, signals: JobSignals, *, overlap: bool) -> JobRan:
        try:
            self._save_what_others_left()
        except (ScratchflowError, OSError) as error:
            raise self._not_started(error) from error
        further = FurtherNodes(self._here, self._copy, self._own.said.further_nodes)
        try:
            code = self._restored_and_run(signals, further, overlap=overlap)
        except (ScratchflowError, OSError) as error:
            raise self._not_started(error) from error
        except Interrupted as ended:
            # Slurm ends what it has queued again; and what is written down of an end stays true.
            if self._own.said.phase not in {"requeued", "ended"}:
                name = signal.Signals(ended.signum).name
                self._own.tell(phase="ended", ended_by=name, end=self._own.now())
            raise
        finally:
            further.end()
            self._remove()
        files = self._own.said.collected_files
        if self._is_refused:
            code = code or 1
        return JobRan(job=self._record.id, task=self.number, code=code, collected_files=files)

    def _save_what_others_left(self) -> None:
        """First of all: what earlier runs of this task, and other jobs, have left on this node."""
        self._keep_what_earlier_runs_made()
        parent, own = self._target.parent, self._target.name
        given_up = save_leftovers(self._here, self._place, parent, own)
        self._own.tell(removed=[*self._own.said.removed, *map(_removal, given_up)])

    def _restored_and_run(
        self, signals: JobSignals, further: FurtherNodes, *, overlap: bool
    ) -> int:
        """The exit code of the command, which has run in its copy; what it made is saved."""
        if further.nodes:
            self._require_steps(overlap=overlap)
            further.begin()
        self._copy.restore(self._here, self._notify)
        mark_copy(self._target, self._mark())
        further.wait_until_ready()
        collector = Collector(self._work, self._outputs, self._record.collect)
        if self._goes_on:
            collector.put_back(read_present(self._place, self._record.id, self.number))
        started = self._started(overlap=overlap)
        self._own.tell(phase="running", git=self._record.git or state_of(self._work, os.environ))
        with in_use(self._target), signals.caught():
            self._is_saved = False
            try:
                code = run_to_end(
                    started,
                    signals,
                    lambda: self._try_to_save(collector),
                    self._here.profile.backup.every.seconds,
                    before_limit(self._record, self._own.said.continued, self._here.job_end_s),
                )
            except NotBegun as error:
                self._is_saved = True
                raise JobNotStarted(job=self._record.id, reason=str(error)) from error
            self._own.note_full_store()
            # Saving may take longer than the job has left; a store that takes no word may still take files.
            self._own.tell_if_it_can(code=code)
            # Whatever comes now: what was made is saved first.
            self._collect(collector, is_last=True)
            self._is_saved = not self._own.said.not_collected
            self._own.count_further(further.end())
            if code == _BY_SIGTERM and not signals.warned:
                signals.wait_for_end(_ALSO_HEARD_S)
            ended_by = signal.SIGTERM.name if signals.ends else ""
            if not (signals.warned and not signals.ends and self._queued_again(code)):
                self._own.tell(phase="ended", code=code, ended_by=ended_by, end=self._own.now())
        return code

    def _mark(self) -> CopyMark:
        """What the next job here needs to save what this run leaves, whatever becomes of the records in the store."""
        running = msgspec.structs.replace(self._own.said, phase="running")
        store = str(self._place.directory)
        node, restarts, inode = self._own.said.node, self._own.said.restarts, inode_of(self._work)
        return CopyMark(node, restarts, store, self._record, running, inode)

    def _not_started(self, error: ScratchflowError | OSError) -> JobNotStarted:
        """The error, after it was written down if the store takes it."""
        reason = _why_not(error, self._here.profile, self._target, self._record)
        if not self._is_saved and not self._own.said.not_collected:
            self._own.change(not_collected=[f"what it made last: {reason}"])
        self._own.tell_if_it_can(phase="ended", error=reason, end=self._own.now())
        return JobNotStarted(job=self._record.id, reason=reason)

    def _queued_again(self, code: int) -> bool:
        """Puts the task back into the queue, if it may go on; otherwise the record says why it does not."""
        record, done = self._record, self._own.said.continued
        if not record.continues:
            return False
        if done >= record.continues:
            self._is_refused = True  # it has more to do: nobody may take it for done
            self._own.tell(
                not_continued=f"it has done so {counted(done, 'time')}, as often as was asked for"
            )
            return False
        if not self._is_saved:
            self._is_refused = True
            self._own.tell(
                not_continued=f"not all that it made could be saved: {self._own.said.not_collected[0]}"
            )
            return False
        # Noted first: what is killed right after the order has been counted.
        self._own.tell(phase="requeued", code=code, continued=done + 1, end=self._own.now())
        self._remove()
        refused = requeue(this_slurm(self._environment), own_name(self._environment))
        if refused:
            self._is_refused = True
            self._own.tell(continued=done, not_continued=f"Slurm did not queue it again: {refused}")
        return not refused

    def _keep_what_earlier_runs_made(self) -> None:
        """A run that starts from the snapshot again replaces no file that an earlier one has saved."""
        self._save_what_was_left()
        self._own.nothing_is_left_on(self._here.node)
        self._own.take_over_notes()
        if not self._goes_on:
            keep_aside(self._outputs, self._earlier_run)
        self._own.count_earlier()

    def _save_what_was_left(self) -> None:
        """A run of this task that died with its node may have left outputs that nobody has collected."""
        open_copy(self._target)
        with taken_over(self._target) as is_left:
            if is_left:
                self._save_copy()

    def _save_copy(self) -> None:
        copy = (self._target, self._place, self._record.id, self.number, self._here.node)
        # What a later run has made on another node meanwhile is newer than this.
        where = self._outputs if self._was_here_last else place_for_earlier(*copy)
        has_ended = self._was_here_last and self._has_said_its_end
        beside = place_for_later(*copy) if has_ended else None
        left = rest_collector(self._target, self._record, where, beside=beside)
        found = left.collect()
        self._own.note_links(found.links_out)
        if self._was_here_last and not self._was_removed:
            self._own.count(found)
            self._note_present(left)
        if found.failed:
            if self._was_here_last:
                take_over_mark(self._target, self._own.said.restarts)
            first = found.failed[0]
            reason = f"what an earlier run of it had left in `{self._target}` could not be saved: {first}"
            raise JobNotStarted(job=self._record.id, reason=reason)
        remove_copy(self._target)

    def _require_steps(self, *, overlap: bool) -> None:
        """What a job with several nodes needs, of Slurm and of what was asked for."""
        reason = ""
        if not overlap:
            reason = "it has several nodes, and this Slurm cannot run a step on them beside the job's own (`srun --overlap`)"
        elif self._record.continues:
            reason = "it has several nodes, and what the others made could not be put back for `--continue`"
        if reason:
            raise JobNotStarted(job=self._record.id, reason=reason)

    def _started(self, *, overlap: bool) -> Started:
        environment = self._copy.environment(self._here, self._environment)
        script, command = self._record.script, self._copy.command
        there = (command, environment, self._copy.directory)
        missing = cannot_interpret(*there, script) if script else cannot_start(*there)
        if missing:
            reason = f"on `{self._here.node}` {missing}"
            raise JobNotStarted(job=self._record.id, reason=reason)
        argv = job_argv(command, environment, script=bool(script), overlap=overlap)
        is_step = argv != command
        signals = self._signal_steps if is_step else None
        return Started(argv, self._copy.directory, environment, OUTPUT_FD, ERROR_FD, signals)

    def _signal_steps(self, signal_name: str) -> None:
        signal_steps(this_slurm(self._environment), own_name(self._environment), signal_name)

    def _try_to_save(self, collector: Collector) -> None:
        """While the command runs: a store that is full or away now is no reason to end it."""
        self._own.note_full_store()
        with suppress(ScratchflowError, OSError):
            self._collect(collector)

    def _collect(self, collector: Collector, *, is_last: bool = False) -> None:
        if is_last:  # the command may have closed what is ours
            open_copy(self._target)
        found = collector.collect(is_last=is_last)
        if not self._own.said.further_nodes:  # those say themselves what they have saved
            with suppress(ScratchflowError, OSError):  # a count is no reason not to tell the rest
                self._own.take_over_notes()
                self._own.count_earlier()
        self._own.count(found)
        self._note_present(collector)
        self._own.tell()

    def _note_present(self, collector: Collector) -> None:
        if self._record.continues:
            write_present(self._place, self._record.id, self.number, collector.present)

    def _remove(self) -> None:
        """Only when what is worth keeping is in the store; what is left is saved by the next job on this node."""
        if not self._is_saved:
            return
        # The directory above stays: another task may be about to restore into it.
        with suppress(OSError):
            remove_copy(self._target)
