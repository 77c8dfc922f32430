"""A `salloc` that talks to the fake Slurm; a Holder."""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.testing.slurm import FakeSlurm


class FakeSalloc:
    """Waits in the queue like the real one, and withdraws its request when it is stopped."""

    def __init__(self, slurm: FakeSlurm) -> None:
        self._slurm = slurm
        self._said = ""
        self.job_id = 0
        self.started = False
        self.stopped = False
        self.left = False

    def start(self, argv: Sequence[str]) -> None:
        self.started = True
        self.job_id, self._said = self._slurm.submit(argv)

    def said(self) -> str:
        job = self._slurm.jobs.get(self.job_id)
        if job is not None and job.state == "RUNNING" and "Granted" not in self._said:
            self._said += f"salloc: Granted job allocation {self.job_id}\n"
        elif job is not None and job.state == "CANCELLED" and "Granted" not in self._said:
            self._said += "salloc: Job has been cancelled\n"
        return self._said

    def exit_code(self) -> int | None:
        if not self.started:
            return None
        if self.stopped or self.job_id == 0 or "cancelled" in self.said():
            return 1
        return 0 if "Granted" in self._said else None

    def stop(self) -> None:
        job = self._slurm.jobs.get(self.job_id)
        if not self.stopped and self.exit_code() is None and job is not None:
            job.state = "CANCELLED"
        self.stopped = True

    def leave(self) -> None:
        self.left = True
