"""What an error in the middle of a hop says of the two nodes: which of them is still held, and where the work is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scratchflow.flows.hop.move import Move
from scratchflow.model.errors.allocation import NodeSilent
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.hop import HopCutShort, NextNodeLost, NextNodeSilent
from scratchflow.model.requests import OpenJobs
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.model.results.status import AllocationShown, JobsShown
from scratchflow.process.interrupted import Interrupted


@contextmanager
def says_what_is_held(move: Move, held: NodeHeld) -> Iterator[None]:
    """When one of the two jobs goes in the middle, the error says which one is still held.

    The old one goes by another laptop's `clear`, or a crash. The new one is kept then: whoever moved wanted
    to go on working, and the last snapshot can be brought there. The new one goes by a crash, or because
    a slurmctld that was killed has forgotten it.
    """
    try:
        yield
    except ScratchflowError as error:
        shown = _open_jobs(move)
        is_old_held, is_new_held = _still_held(move, held, shown)
        if is_new_held and not is_old_held:
            raise HopCutShort.because_of(error, held.job_id, held.node) from error
        if is_old_held and not is_new_held:
            raise NextNodeLost.because_of(error, move.old_job, move.old_node) from error
        require_answer(move, error)
        if shown is not None and is_old_held and is_new_held:
            error.add_step(_both_held(move, held, shown.meant))
        raise
    except Interrupted as interrupted:
        both = (
            f"Both nodes are held: `{move.old_node}` (job {move.old_job}) and `{held.node}` (job {held.job_id})."
            " `scratchflow hop` finishes the move."
        )
        raise EndedBySignal(interrupted.signum, both) from interrupted


def _both_held(move: Move, held: NodeHeld, meant: int | None) -> str:
    """What is held, where the work is, and the way on."""
    old, new = f"`{move.old_node}` (job {move.old_job})", f"`{held.node}` (job {held.job_id})"
    if meant == held.job_id:
        return (
            f"both nodes are held: {new}, where commands go now, and {old}, as it was left;"
            " `scratchflow hop` again saves what is new there, and gives it back"
        )
    return (
        f"both nodes are held: {old}, where the work is and commands go, and {new}; `scratchflow hop` tries again."
        f" If `{held.node}` never answers: `scancel {held.job_id}` on the login host gives back that node alone"
    )


def job_worked_in(move: Move) -> int | None:
    """The job that commands go to; None when nobody says."""
    shown = _open_jobs(move)
    return shown.meant if shown is not None else None


def require_answer(move: Move, error: ScratchflowError) -> None:
    """NextNodeSilent when it is the next job's node that gave no answer: what there is to lose is on the old one.

    Not once commands go to the next one, also since an earlier run: somebody may have worked there.
    """
    shown = _open_jobs(move) if isinstance(error, NodeSilent) else None
    if shown is None or shown.meant != move.old_job:
        return
    for job in shown.jobs:
        if job.job_id != move.old_job and f"(job {job.job_id})" in str(error):
            raise _silent(move, error, job) from error


def _silent(move: Move, error: ScratchflowError, job: AllocationShown) -> NextNodeSilent:
    return NextNodeSilent(
        reason=error,
        old_node=move.old_node,
        old_job=move.old_job,
        node=job.node,
        job_id=job.job_id,
    )


def require_next_node(move: Move, error: ScratchflowError) -> None:
    """Refuses with where the work is when the next node failed before anything was brought there, and the old one is held.

    What such an error says by itself, that `up` takes another node, is true where no node is left. Its job may still
    be open, while Slurm does not know of the failure.
    """
    shown = _open_jobs(move)
    if shown is None or shown.meant != move.old_job:
        return
    for job in shown.jobs:
        if job.job_id != move.old_job and job.node and f"`{job.node}`" in str(error):
            raise _silent(move, error, job) from error
    if any(job.job_id == move.old_job for job in shown.jobs):
        raise NextNodeLost.because_of(error, move.old_job, move.old_node) from error


def say_that_the_old_node_stays(move: Move, error: ScratchflowError) -> None:
    """Adds to the refusal of the next node that the old one is still held. Slurm is asked: it may have ended meanwhile."""
    shown = _open_jobs(move)
    if shown is not None and any(job.job_id == move.old_job for job in shown.jobs):
        error.add_step(f"job {move.old_job} still holds `{move.old_node}`, with the work there")


def _still_held(move: Move, held: NodeHeld, shown: JobsShown | None) -> tuple[bool, bool]:
    """Whether Slurm, asked once more, has the old job and the new one; both when it does not say."""
    if shown is None:
        return True, True
    numbers = {job.job_id for job in shown.jobs}
    return move.old_job in numbers, held.job_id in numbers


def _open_jobs(move: Move) -> JobsShown | None:
    """The profile's jobs; None when nobody says."""
    try:
        return move.cluster.on_login("jobs open", OpenJobs(), JobsShown)
    except ScratchflowError:
        return None
