"""Commands that `run --detach` left: they end with their job, which somebody may have forgotten."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from scratchflow.model.errors.base import Declined
from scratchflow.model.events import Emit, Warned
from scratchflow.model.results.status import DetachedRun

Agrees = Callable[[str], bool]
"""Answers a question; without somebody to ask it is a yes."""


def agree_to_what_ends(
    emit: Emit,
    runs: Iterable[DetachedRun],
    jobs: Collection[int | None],
    agrees: Agrees | None = None,
) -> None:
    """Names the commands that end with these jobs, and asks. Declined, with nothing done, when the answer is no."""
    ending = [run for run in runs if run.job_id in jobs]
    for run in ending:
        message = f"`run --detach` left a command running in window `{run.window}`: it ends with job {run.job_id}"
        emit(Warned(code="run.ends", message=message))
    them = "it" if len(ending) == 1 else "them"
    if ending and agrees is not None and not agrees(f"Go on, and end {them}?"):
        raise Declined.by_answer()
