"""`autobackup run`: the loop on the node that takes a snapshot every so often, until its job ends.

It runs as a step of the job, at low priority, and needs nobody: its sign of life is a file on the store.
Where it had to be started over ssh it is no step, and a guard ends it with the job.
"""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import msgspec

from scratchflow.cluster.slurm.client import this_slurm
from scratchflow.cluster.slurm.jobs import job, our_jobs
from scratchflow.cluster.this_host import step_id
from scratchflow.model.ages import for_people
from scratchflow.model.allocation import HELD, OPEN
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.errors.workspace import (
    AutobackupFailed,
    WorkspaceMissing,
    WorkspaceOfProfile,
)
from scratchflow.model.requests import Autobackup
from scratchflow.model.results.backup import AutobackupEnded, BackupTaken
from scratchflow.model.snapshot import Purpose
from scratchflow.model.text import printable
from scratchflow.model.times import epoch, iso_time
from scratchflow.node.autobackup.compaction import Compaction
from scratchflow.node.autobackup.job_guard import JobGuard
from scratchflow.node.autobackup.one_backup import LoopBackup, after_backup
from scratchflow.node.autobackup.only_one import only_one
from scratchflow.node.autobackup.others import OtherBackups
from scratchflow.node.autobackup.preload import load_everything
from scratchflow.node.autobackup.schedule import Moment, Schedule, Timetable
from scratchflow.node.autobackup.scrub import Scrub
from scratchflow.node.autobackup.settings import settings_digest
from scratchflow.node.autobackup.signals import LoopSignals
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.missing import directory_of, missing_layer
from scratchflow.node.progress import Notifier
from scratchflow.node.renamed import all_renamed
from scratchflow.node.same_store import open_store
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.cut_off import forget_cut_off, note_cut_off
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.heartbeats import BEAT_S, Heartbeat, beat, log_path, prepare
from scratchflow.workspace.usual_scratch import require_usable_scratch
from scratchflow.workspace.workspace import expand, link_seen

NICE = 10
_AUTOMATIC = {"auto", "final"}
_ASK_SLURM_EVERY_S = 60.0
_MOST_RENAMED = 20  # what is told of them must fit into the heartbeat's file


def run_autobackup(
    context: NodeContext,
    notify: Notifier,
    request: Autobackup,
    environment: Mapping[str, str] = os.environ,
) -> AutobackupEnded:
    """Runs until the job ends or somebody switches it off; on SIGTERM it takes a last snapshot."""
    load_everything()  # before the agent that we run from can be removed
    place = open_store(context, notify)
    with only_one(context, place, request.job_name) as alone:
        if not alone:
            return AutobackupEnded(reason="another one runs on this node already", backups=0)
        prepare(place)
        _write_to_the_log(log_path(place, context.node))
        return _Loop(context, place, request, environment, _lower_priority()).run()


class _Loop:
    def __init__(
        self,
        context: NodeContext,
        place: StoreDirectory,
        request: Autobackup,
        environment: Mapping[str, str],
        priority: str,
    ) -> None:
        self._context = context
        self._request = request
        self._environment = environment
        self._place = place
        self._home = expand("~", environment)
        self._is_cut_off = True  # one before this one may have left a note
        self._end_s = request.end_time
        self._asked_at = time.monotonic()
        self._timetable = self._begin_timetable()
        self._backups = 0
        self._backup = LoopBackup(context, place, _say, beside=request.beside)
        self._scrub = Scrub(context, place, _say)
        self._compaction = Compaction(context, place, _say)
        self._signals = LoopSignals()
        self._others = OtherBackups(context, _say, self._signals.stop.is_set, beside=request.beside)
        self._guard = self._guard_of_no_step()
        self._life = Heartbeat(
            node=context.node,
            job_id=context.job_id,
            step_id=step_id(environment),
            pid=os.getpid(),
            token=request.token,
            every_s=context.profile.backup.every.seconds,
            phase="waiting",
            time="",
            priority=priority,
            job_name=request.job_name,
            settings=settings_digest(context.profile),
            workspace=context.workspace.name,
            last_time=self._taken_before(),
        )

    def run(self) -> AutobackupEnded:
        self._require_end()
        with self._signals.caught(), self._guard.watching() if self._guard else nullcontext():
            self._beat()
            way = ", over ssh" if self._guard else ""
            priority = self._life.priority or "normal priority"
            _say(f"every {self._life.every_s:g} s, {priority}{way}")
            try:
                reason = self._until_the_end()
            finally:
                self._scrub.stop()
                self._compaction.stop()
            if reason != "switched off":
                self._back_up("the job ends", "final", job_ends=True)
        self._life = msgspec.structs.replace(self._life, phase="ended", next_time=None)
        self._beat()
        _say(f"ended: {reason}")
        return AutobackupEnded(reason=reason, backups=self._backups)

    def _guard_of_no_step(self) -> JobGuard | None:
        """The guard for a loop that is not a job step: Slurm would not end it."""
        job_id, name = self._context.job_id, self._request.job_name
        if job_id is None or not name or step_id(self._environment) is not None:
            return None
        slurm = this_slurm(self._environment)

        def is_taken() -> bool:
            jobs = our_jobs(slurm, self._context.settings.name)
            return any(
                other.job_id != job_id and other.state in HELD and self._context.node in other.nodes
                for other in jobs
            )

        return JobGuard(lambda: job(slurm, job_id, name), is_taken, self._request.end_time)

    def _require_end(self) -> None:
        if self._guard and self._guard.is_over() is None:
            reason = "neither Slurm, asked on the node, nor a time limit says when its job ends"
            _say(reason)
            log = log_path(self._place, self._context.node)
            raise AutobackupFailed(node=self._context.node, reason=reason, log=log)

    def _until_the_end(self) -> str:
        while True:
            if self._signals.stop.is_set():
                return self._signals.reason
            if self._job_is_over():
                return "the job has ended"
            now = _now()
            wait_s = self._wait_s(now)
            if wait_s <= 0:
                self._take_due(now)
            else:
                self._signals.stop.wait(min(wait_s, BEAT_S))
                if not self._request.beside:  # of several nodes the first reads the store back
                    self._scrub.tend()
                    self._compaction.tend(self._wait_s(_now()), self._left_s())
                self._beat()

    def _left_s(self) -> float | None:
        return None if self._end_s is None else self._end_s - time.time()

    def _take_due(self, now: Moment) -> None:
        self._compaction.stop()
        is_final = self._timetable.is_final(now, self._end_s, self._last_duration_s)
        worked = (
            self._back_up("the last before the time limit", "final")
            if is_final
            else self._back_up("automatic", "auto")
        )
        if worked:
            self._timetable.succeeded(_now(), _chance(), final=is_final)
        else:
            self._timetable.failed(_now())
        self._beat()

    def _begin_timetable(self) -> Timetable:
        options = self._context.profile.backup
        schedule = Schedule(
            options.every.seconds,
            options.final_before.seconds,
            scratch_goes=self._context.scratch_goes_with_job,
        )
        latest = read_catalogue(self._place).newest_readable
        taken_s = epoch(latest.time) if latest else None
        now = _now()
        age_s = None if taken_s is None else now.wall_s - taken_s
        return Timetable(schedule, now, age_s, _chance())

    def _taken_before(self) -> str | None:
        """When a loop before this one took its last snapshot of the workspace, or of this node's copy."""
        taken = [one for one in read_catalogue(self._place).snapshots if one.purpose in _AUTOMATIC]
        node = self._context.node
        if self._request.beside:
            taken = [one for one in taken if one.beside and one.node == node]
        else:
            taken = [one for one in taken if not one.beside]
        return taken[-1].time if taken else None

    def _wait_s(self, now: Moment) -> float:
        return self._timetable.wait_s(now, self._end_s, self._last_duration_s)

    @property
    def _last_duration_s(self) -> float:
        return self._life.last_duration_s or 0.0

    def _back_up(self, message: str, purpose: Purpose, *, job_ends: bool = False) -> bool:
        """Takes one snapshot; returns whether it was the last one."""
        if self._request.beside:
            message = f"{message}, of {self._context.node}"
        self._life = msgspec.structs.replace(self._life, phase="backing up")
        self._beat()
        began = time.monotonic()
        error: str | None = None
        taken: BackupTaken | None = None
        try:
            with self._signs_of_life():
                try:
                    taken = self._backup.take(message, purpose, job_ends=job_ends)
                finally:
                    self._others.take(message, purpose, job_ends=job_ends)
        except WorkspaceOfProfile as theirs:  # is to be seen in `status`
            error = str(theirs)
        except WorkspaceMissing as missing:
            _say(str(missing))  # nothing to lose, so no error: it may come with a restore
        except ScratchflowError as failed:
            error = str(failed)
        except Exception as bug:  # noqa: BLE001 - one bad backup must not end all later ones
            error = self._closed_scratch() or f"internal error: {type(bug).__name__}: {bug}"
        if taken and taken.pruned:
            self._compaction.look_again()
        self._note(taken, error, time.monotonic() - began)
        if error:
            _say(f"{message}: failed: {error}")
        return error is None

    def _closed_scratch(self) -> str:
        """Why nothing can be done on this scratch, if that is so."""
        try:
            require_usable_scratch(self._context.workspace, self._context.node)
        except ScratchflowError as closed:
            return str(closed)
        return ""

    @contextmanager
    def _signs_of_life(self) -> Iterator[None]:
        """Keeps the heartbeat going during a backup, which may take longer than a dead loop is waited for."""
        done = threading.Event()

        def go_on() -> None:
            while not done.wait(BEAT_S):
                self._beat()

        thread = threading.Thread(target=go_on, name="autobackup-heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _note(self, taken: BackupTaken | None, error: str | None, took_s: float) -> None:
        if taken:
            now = iso_time(time.time())
            self._life = after_backup(self._life, taken, now, self._backup.warnings)
        self._life = msgspec.structs.replace(
            self._life, phase="waiting", last_duration_s=round(took_s, 3), last_error=error
        )
        self._backups += taken is not None

    def _beat(self) -> None:
        now = _now()
        if self._life.phase != "ended":
            next_s = now.wall_s + self._wait_s(now)
            if self._end_s is not None:  # then the last one is taken, and no later one
                next_s = min(next_s, max(now.wall_s, self._end_s))
            why = self._timetable.why(now, self._end_s, self._last_duration_s)
            self._life = msgspec.structs.replace(
                self._life, next_time=iso_time(next_s), next_why=why
            )
        layers = self._context.profile.environment
        missing = missing_layer(layers, self._context.workspace.scratch)
        self._life = msgspec.structs.replace(
            self._life,
            time=iso_time(now.wall_s) or "",
            beats=self._life.beats + 1,
            workspace_exists=_is_directory(self._context.workspace.path),
            workspace_link=link_seen(self._context.workspace),
            renamed=self._renamed(),
            missing_layer=missing,
            missing_path=directory_of(layers, missing) if missing else "",
            damaged=self._scrub.damaged,
            others=self._others.seen(),
        )
        try:
            beat(self._place, self._life)
        except ScratchflowError as error:
            _say(f"no sign of life could be left: {error}")  # the next one may get through
            note_cut_off(self._home, self._place, self._life, str(error))
            self._is_cut_off = True
        else:
            if self._is_cut_off:
                forget_cut_off(self._home, self._place, self._life.node)
            self._is_cut_off = False

    def _renamed(self) -> list[str]:
        try:
            found = all_renamed(self._context.workspace, self._context.store)
        except OSError:  # nobody may look at scratch: the next backup says so
            return []
        return [printable(path) for path in found[:_MOST_RENAMED]]

    def _job_is_over(self) -> bool:
        """Asks Slurm now and then, because the end may have moved; without an answer nothing changes."""
        if self._context.job_id is None or not self._request.job_name:
            return False
        if self._guard:  # which asks more often, and ends us with a signal
            self._end_s = self._guard.end_s
            return False
        if time.monotonic() - self._asked_at < _ASK_SLURM_EVERY_S:
            return False
        self._asked_at = time.monotonic()
        with suppress(SlurmUnreachable):
            found = job(this_slurm(self._environment), self._context.job_id, self._request.job_name)
            self._end_s = found.end_time if found.end_time is not None else self._end_s
            return found.state not in OPEN and found.cause != "forgotten"
        return False


def _now() -> Moment:
    return Moment(wall_s=time.time(), monotonic_s=time.monotonic())


def _chance() -> float:
    return random.random()  # noqa: S311 - spreads load, hides nothing


def _write_to_the_log(log: Path) -> None:
    """Sends stdout and stderr to the log: the `srun` that started us, and its pipes, are gone."""
    with store_errors(log.parent):
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    os.dup2(descriptor, sys.stderr.fileno())
    os.close(descriptor)


def _lower_priority() -> str:
    """Lowers our CPU and disk priority, and says how far the system allowed it."""
    lowered = []
    with suppress(OSError):
        lowered.append(f"nice {os.nice(NICE)}")
    argv = ["ionice", "-c", "2", "-n", "7", "-p", str(os.getpid())]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)  # noqa: PLW1510 - its refusal is an answer
        if done.returncode == 0:
            lowered.append("ionice 7")
    return ", ".join(lowered)


def _say(text: str) -> None:
    """A line for the log beside the heartbeat: people read it, so short ids and the node's local time."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    with suppress(OSError):
        sys.stderr.write(f"{stamp} {for_people(text)}\n")
        sys.stderr.flush()


def _is_directory(path: Path) -> bool | None:
    """None where nobody can say: a scratch that is closed may hold all of it."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return None
