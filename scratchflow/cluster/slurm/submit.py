"""Asks Slurm for a node and waits for it. Whatever ends the wait early withdraws the request."""

from __future__ import annotations

import signal
from contextlib import suppress

import msgspec

from scratchflow.cluster.command import CommandMissing
from scratchflow.cluster.signals import held_back
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.jobs import cancel, job_named
from scratchflow.cluster.slurm.request import job_name, salloc_argv, shell_inside_argv
from scratchflow.cluster.slurm.salloc import Holder
from scratchflow.cluster.slurm.wait import Patience, Wait, Watch, ended_error
from scratchflow.model.allocation import OPEN, Allocation, RunningAllocation
from scratchflow.model.errors.allocation import (
    AllocationMissing,
    AllocationPending,
    AllocationRefused,
)
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.profile import SlurmOptions
from scratchflow.process.interrupted import Interrupted
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock, looks

WITHDRAW_S = 30.0
"""How long the withdrawal of a request may take before it is left for the next run to find."""

FINISH_S = 30.0
"""How long a detached `salloc` may go on after its job runs before we go on without it."""

# A `salloc` that died just after it sent its order has a job that shows up a moment later.
_EMPTY_LOOKS = 3
_BETWEEN_LOOKS_S = 0.3
# How long a `salloc` that was hung up takes to give its job back.
_REVOKED_S = 2.0


class Request(msgspec.Struct, frozen=True):
    """What to ask for, on whose behalf. `token` is random and makes the job's name unique."""

    profile: str
    options: SlurmOptions
    token: str
    detached: bool = True
    node: str = ""
    shell: str = "/bin/sh"
    overlap: bool = True
    binding: bool = True
    directory: str = ""
    """Where the shell starts, when the job lives as long as one."""

    @property
    def name(self) -> str:
        return job_name(self.profile, self.token)

    def argv(self) -> list[str]:
        """The `salloc` that asks; also what `--dry-run` shows."""
        shell = shell_inside_argv(
            self.shell, overlap=self.overlap, binding=self.binding, directory=self.directory
        )
        command = () if self.detached else shell
        return salloc_argv(
            self.options, self.name, detached=self.detached, node=self.node, command=command
        )


class Submission(msgspec.Struct, frozen=True):
    """One request under way: Slurm, what runs `salloc`, and the time it may take."""

    slurm: Slurm
    holder: Holder
    patience: Patience
    watch: Watch = lambda _: None
    clock: Clock = SYSTEM_CLOCK


def allocate(request: Request, submission: Submission) -> RunningAllocation:
    """Takes a node and returns when the job runs there; `watch` hears of every change before.

    Any exception, a Ctrl-C at any moment too, withdraws the request: no job stays behind, unless
    Slurm is out of reach for longer than WITHDRAW_S. After a `kill -9` or in that case the job stays
    in the queue under its name, where `our_jobs` finds it. With `keep_waiting` it is left there on
    purpose at the wait limit, and when whoever asked is gone after they heard of it; `resume` goes on waiting.
    """
    slurm, holder = submission.slurm, submission.holder
    announced = _Announcing(submission.watch)
    try:
        _start(request, slurm, holder)
        wait = Wait(slurm, request.name, request.profile, submission.patience, submission.clock)
        allocation = wait.until_running(announced, holder, detached=request.detached)
        if request.detached:
            _let_finish(holder, submission.clock)
            _require_kept(request.name, submission)
    except BaseException as error:
        is_left = isinstance(error, AllocationPending) or (is_hang_up(error) and announced.of_job)
        if is_left and submission.patience.keep_waiting:
            holder.leave()
        else:
            _withdraw_after(error, request.name, request.profile, submission)
        raise
    holder.leave()
    return allocation


def is_hang_up(error: BaseException) -> bool:
    """Whether the one who waits is gone, by a lost connection or a closed window, rather than by Ctrl-C."""
    if isinstance(error, Interrupted):
        return error.signum != signal.SIGINT
    return isinstance(
        error, BrokenPipeError
    )  # met by what we have to say, before the end of our input


class _Announcing:
    """Passes on what is seen, and knows whether that named the job: then others can find it, and withdraw it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.of_job = False

    def __call__(self, seen: Allocation) -> None:
        self._watch(seen)
        self.of_job = self.of_job or seen.job_id is not None


def resume(name: str, profile: str, submission: Submission) -> RunningAllocation:
    """Waits on for a job that is in the queue already.

    The wait limit without `keep_waiting` and a refusal for good withdraw it. An interruption does
    not: whoever asked for it may still be waiting. A `holder` that was not started does here.
    """
    patience = submission.patience
    wait = Wait(submission.slurm, name, profile, patience, submission.clock)
    try:
        return wait.until_running(submission.watch, None, detached=True)
    except (AllocationPending, AllocationRefused) as error:
        if isinstance(error, AllocationRefused) or not patience.keep_waiting:
            _withdraw_after(error, name, profile, submission)
        raise


def _start(request: Request, slurm: Slurm, holder: Holder) -> None:
    # Held back: an interruption between the start and our knowing of it would leave a `salloc`
    # that nobody stops.
    with held_back():
        try:
            holder.start(request.argv())
        except CommandMissing as error:
            raise slurm.unreachable(f"there is no `{error}` on its PATH") from error


def _let_finish(holder: Holder, clock: Clock) -> None:
    """Waits for `salloc` to end by itself: cut off between grant and end it gives the job back.

    It goes on for a while where the node's prolog does; it is not waited for without end.
    """
    for _ in looks(FINISH_S, 0.05, clock):
        if holder.exit_code() is not None:
            return


def _require_kept(name: str, submission: Submission) -> None:
    """Says so when a `salloc` that was cut off between grant and end has given the job back.

    Another run that starts in the same window cuts it off. After its end that is without harm, and
    looks the same here: Slurm knows.
    """
    if submission.holder.exit_code() in {0, None}:
        return
    for _ in looks(_REVOKED_S, _BETWEEN_LOOKS_S, submission.clock):
        with suppress(SlurmUnreachable):  # it was granted: that stands until Slurm says otherwise
            seen = job_named(submission.slurm, name)
            if seen is not None and seen.state not in OPEN:
                raise ended_error(seen)


def _withdraw_after(error: BaseException, name: str, profile: str, submission: Submission) -> None:
    """Withdraws, and lets the error that is on its way pass."""
    # Slurm has been waited for long enough already: one try, for an order that did get through.
    within_s = 0.0 if isinstance(error, SlurmUnreachable) else WITHDRAW_S
    # When Slurm itself has spoken, no order is on its way any more.
    empty_looks = 1 if isinstance(error, ScratchflowError) else _EMPTY_LOOKS
    with held_back(), suppress(SlurmUnreachable):
        withdraw(name, profile, submission, within_s=within_s, empty_looks=empty_looks)


def withdraw(
    name: str,
    profile: str,
    submission: Submission,
    *,
    within_s: float = WITHDRAW_S,
    empty_looks: int = _EMPTY_LOOKS,
) -> None:
    """Ends the `salloc`, then the job of that name, and looks again until it is over.

    SlurmUnreachable when that cannot be made sure in time.
    """
    slurm = submission.slurm
    failed = lingers = slurm.unreachable(f"job `{name}` was cancelled, but does not end")
    for _ in looks(within_s, _BETWEEN_LOOKS_S, submission.clock):
        failed = lingers
        submission.holder.stop()
        try:
            found = job_named(slurm, name)
            _cancel_open(slurm, found, profile)
        except SlurmUnreachable as error:
            failed = error
        else:
            empty_looks -= found is None
            if empty_looks == 0 or (found is not None and found.state not in OPEN):
                return
    raise failed


def _cancel_open(slurm: Slurm, found: Allocation | None, profile: str) -> None:
    if found is not None and found.job_id is not None and found.state in OPEN:
        with suppress(AllocationMissing):  # it ended by itself in between
            cancel(slurm, found.job_id, profile)
