"""Whether a job still runs, asked of Slurm now and then beside other work."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from scratchflow.model.errors.base import ScratchflowError

ASK_EVERY_S = 60.0
"""Slurm is asked by every tunnel of every user: not more often than people ask."""


class JobWatch:
    """One job, watched from a thread: an answer may take long."""

    def __init__(self, job_id: int, environment: Mapping[str, str] = os.environ) -> None:
        self._job_id, self._environment = job_id, environment
        self._has_ended = threading.Event()

    def begins(self) -> bool:
        """Whether the job runs and Slurm says so here; from then on it is watched."""
        try:
            if self._ask():
                return False
        except (ScratchflowError, OSError):
            return False
        threading.Thread(target=self._watch, name="job-watch", daemon=True).start()
        return True

    def runs(self) -> bool:
        """Whether it did when Slurm was last asked. A Slurm that does not answer ends nothing."""
        return not self._has_ended.is_set()

    def _watch(self) -> None:
        while not self._has_ended.wait(ASK_EVERY_S):
            try:
                if self._ask():
                    self._has_ended.set()
            except (ScratchflowError, OSError):
                continue

    def _ask(self) -> bool:
        from scratchflow.cluster.slurm.client import this_slurm
        from scratchflow.cluster.slurm.jobs import has_ended

        return has_ended(this_slurm(self._environment), self._job_id)
