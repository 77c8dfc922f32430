"""What is said of a command that did not end by itself."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.flows.run.ended import cut_error, is_ended_by_others, job_end
from scratchflow.model.errors.allocation import AllocationEnded, AllocationMissing, NodeFailed
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.results.run import RunCarrier
from scratchflow.process.carried import Outcome
from tests.unit.flows.told import ToldCluster


def test_a_lost_connection_names_what_may_still_run() -> None:
    outcome = Outcome()
    outcome.started, outcome.group = True, 41
    error = cut_error(outcome, "node-1")
    assert error.exit_code == 14
    assert "process group 41" in error.shown_hint


def by_sigterm() -> Outcome:
    outcome = Outcome()
    outcome.started, outcome.code = True, 128 + signal.SIGTERM
    return outcome


def test_only_a_sigterm_of_somebody_else_is_explained() -> None:
    ours = by_sigterm()
    ours.signals = [signal.SIGTERM]
    other = by_sigterm()
    other.code = 1
    assert [is_ended_by_others(one) for one in (by_sigterm(), ours, other)] == [True, False, False]


CARRIER = RunCarrier(job_id=7, node="n", argv=[], terminal_argv=[], shell=["sh"])  # noqa: S604 - no shell is run


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"run carrier": CARRIER}, ""),
        ({"run carrier": ConnectionLost(host="h", reason="r")}, ""),
        (
            {
                "run carrier": AllocationMissing(profile="p"),
                "run place": AllocationEnded(job_id=7, reason="it was cancelled"),
            },
            "job 7 has ended: it was cancelled",
        ),
        (
            {
                "run carrier": AllocationMissing(profile="p"),
                "run place": NodeFailed(node="n", reason="Slurm has given it up"),
            },
            "node `n` failed: Slurm has given it up",
        ),
        (
            {"run carrier": NodeFailed(node="n", reason="Slurm has given it up")},
            "node `n` failed: Slurm has given it up",
        ),
        (
            {
                "run carrier": msgspec.structs.replace(CARRIER, job_id=8),
                "run place": AllocationMissing(profile="p"),
            },
            "job 7 has ended",
        ),
    ],
)
def test_how_the_job_ended_is_told_when_it_has(
    tmp_path: Path, answers: dict[str, Any], words: str
) -> None:
    assert job_end(ToldCluster(tmp_path, answers), 7) == words


def test_a_command_that_is_gone_with_its_job_is_not_said_to_run() -> None:
    error = cut_error(by_sigterm(), "node-1", "job 7 has ended: it was cancelled")
    assert "job 7 has ended" in str(error)
    assert "may still run" not in error.shown_hint
