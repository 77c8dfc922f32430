"""An answer of accounting is final when nothing can be missing from it, or so late that nothing will come."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cluster.slurm.batch.accounting import AccountedTask
from scratchflow.cluster.slurm.batch.queue import QueuedTask
from scratchflow.login.jobs.slurm_end import ACCOUNTING_LAGS_S, Said, is_complete
from scratchflow.model.job import SlurmTask
from scratchflow.model.times import iso_time

END = 1_000_000
CANCELLED = AccountedTask(job="x", job_id=7, task=0, state="CANCELLED", start=END - 9, end=END)
BY_ROOT = msgspec.structs.replace(CANCELLED, cancelled_by=0)
FAILED = msgspec.structs.replace(CANCELLED, state="FAILED", code=1)
WITHOUT_END = msgspec.structs.replace(FAILED, end=None)
QUEUED = QueuedTask(
    job="x",
    number=7,
    job_id=7,
    task=0,
    state="FAILED",
    partition="p",
    node="n1",
    start=END - 9,
    end=END + 1,
    reason="None",
    name="x",
)
NOTED = SlurmTask(task=0, job_id=7, state="OUT_OF_MEMORY", start=iso_time(END - 9), code=1)


@pytest.mark.parametrize(
    ("said", "since_end_s", "is_final"),
    [
        (CANCELLED, 10, False),
        (CANCELLED, 3600, False),
        (CANCELLED, ACCOUNTING_LAGS_S, True),
        (BY_ROOT, 10, False),
        (BY_ROOT, 60, True),
        (FAILED, 10, False),
        (FAILED, 60, True),
        (WITHOUT_END, 60, False),
    ],
)
def test_an_answer_that_may_lack_something_is_not_final(
    said: AccountedTask, since_end_s: float, is_final: bool
) -> None:
    assert is_complete(said, since_end_s) == is_final


def test_an_end_without_a_time_has_the_one_that_squeue_tells() -> None:
    found = Said(None, QUEUED, WITHOUT_END).end(0, 0, END + 10, is_all=False)
    assert found is not None
    assert (found.end, found.accounted) == (iso_time(END + 1), False)


def test_what_accounting_said_stays_while_it_is_away_unless_squeue_shows_a_later_run() -> None:
    assert Said(NOTED, QUEUED, None).has_no_news
    later = msgspec.structs.replace(QUEUED, start=END)
    assert not Said(NOTED, later, None).has_no_news
    by_squeue = msgspec.structs.replace(NOTED, code=None)
    assert not Said(by_squeue, QUEUED, None).has_no_news
