"""Jobs as `squeue`, `scontrol` and `sacct` print them.

Recorded from Slurm 22.05; where a test says so, written after the manual of another version.
"""

from __future__ import annotations

import time

import pytest

from scratchflow.cluster.slurm.job_text import accounted_job, jobs_in, shown_job
from scratchflow.cluster.slurm.states import state_of
from scratchflow.model.allocation import Allocation


def squeue_line(**changed: str) -> str:
    fields = {
        "id": "61",
        "state": "RUNNING",
        "user": "alice",
        "partition": "debug",
        "nodes": "node-2",
        "start": "1794715575",
        "end": "1794715875",
        "limit": "5:00",
        "reason": "None",
        "name": "scratchflow:aws:3f2a9c",
    }
    return "\x1f".join({**fields, **changed}.values())


def one(line: str) -> Allocation:
    (found,) = jobs_in(f"{line}\n", "alice")
    return found


def test_a_running_job() -> None:
    assert one(squeue_line()) == Allocation(
        job_id=61,
        name="scratchflow:aws:3f2a9c",
        state="running",
        reason="None",
        nodes=("node-2",),
        partition="debug",
        start_time=1794715575,
        end_time=1794715875,
    )


def test_a_waiting_job_has_an_estimate_and_neither_node_nor_end() -> None:
    got = one(squeue_line(state="PENDING", nodes="", reason="Priority"))
    assert (got.state, got.nodes, got.start_time, got.end_time) == ("pending", (), None, None)
    assert got.start_estimate == 1794715575
    assert got.reason_text == "other jobs come first"


@pytest.mark.parametrize("text", ["N/A", "NONE", "Unknown", "INVALID", "", "0"])
def test_a_time_that_is_none_is_none(text: str) -> None:
    got = one(squeue_line(start=text, end=text))
    assert (got.start_time, got.end_time) == (None, None)
    assert one(squeue_line(state="PENDING", start=text)).start_estimate is None


def test_no_limit_is_no_end() -> None:
    assert one(squeue_line(limit="UNLIMITED")).end_time is None


def test_local_time_is_read_in_the_hosts_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    # A build that does not know SLURM_TIME_FORMAT.
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        got = one(squeue_line(end="2026-11-15T13:11:15"))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert got.end_time == 1794715875


def test_bars_and_separators_in_a_name_stay_in_the_name() -> None:
    assert one(squeue_line(name="a|b\x1fc")).name == "a|b\x1fc"


def test_lines_that_are_no_jobs_are_passed_over() -> None:
    # `CLUSTER:` is what squeue prints first when SLURM_CLUSTERS is set.
    text = f"CLUSTER: big\n{squeue_line(name='two')}\nlines\n\n{squeue_line(user='bob')}\n"
    assert [found.name for found in jobs_in(text, "alice")] == ["two"]


STATES = {
    "PENDING": ("pending", None),
    "CONFIGURING": ("configuring", None),
    "RUNNING": ("running", None),
    "RESIZING": ("running", None),
    "SIGNALING": ("running", None),
    "SUSPENDED": ("suspended", None),
    "STOPPED": ("suspended", None),
    "COMPLETING": ("completing", None),
    "STAGE_OUT": ("completing", None),
    "CANCELLED": ("ended", "cancelled"),
    "CANCELLED+": ("ended", "cancelled"),
    "CANCELLED by 20001": ("ended", "cancelled"),
    "COMPLETED": ("ended", "completed"),
    "FAILED": ("ended", "failed"),
    "TIMEOUT": ("ended", "timeout"),
    "PREEMPTED": ("ended", "preempted"),
    "NODE_FAIL": ("ended", "node_fail"),
    "OUT_OF_MEMORY": ("ended", "oom"),
    "OUT_OF_ME+": ("ended", "oom"),
    "BOOT_FAIL": ("ended", "boot_fail"),
    "DEADLINE": ("ended", "deadline"),
    "REVOKED": ("ended", "cancelled"),
    "REQUEUED": ("pending", None),
    "REQUEUE_HOLD": ("pending", None),
    "SPECIAL_EXIT": ("pending", None),
    "EXPEDITING": ("unknown", None),
    "": ("unknown", None),
}


@pytest.mark.parametrize("text", STATES)
def test_states(text: str) -> None:
    assert state_of(text) == STATES[text]


RECORDED_SHOW_JOB = (
    "JobId=1 JobName=scratchflow:aws:1 UserId=alice(20001) GroupId=alice(20001) MCS_label=N/A "
    "Priority=4294901759 Nice=0 Account=(null) QOS=(null) JobState=RUNNING Reason=None "
    "Dependency=(null) Requeue=1 Restarts=0 BatchFlag=0 Reboot=0 ExitCode=0:0 RunTime=00:00:00 "
    "TimeLimit=00:05:00 TimeMin=N/A SubmitTime=1794715575 EligibleTime=1794715575 "
    "AccrueTime=Unknown StartTime=1794715575 EndTime=1794715875 Deadline=N/A Partition=debug "
    "AllocNode:Sid=login:0 ReqNodeList=node-2 ExcNodeList=(null) NodeList=node-2 BatchHost=node-2 "
)


def test_scontrol_tells_the_same() -> None:
    got = shown_job(RECORDED_SHOW_JOB, "alice")
    assert got is not None
    assert (got.job_id, got.name, got.state) == (1, "scratchflow:aws:1", "running")
    assert (got.nodes, got.partition, got.end_time) == (("node-2",), "debug", 1794715875)


def test_scontrol_of_somebody_elses_job_is_nobodys() -> None:
    assert shown_job(RECORDED_SHOW_JOB, "bob") is None
    assert shown_job("", "alice") is None


def test_sacct_knows_what_slurmctld_forgot() -> None:
    # Written after sacct(1) of 20.11 to 24.11: `--parsable2 --allocations`.
    line = "7|CANCELLED by 20001|alice|dev|None assigned|Unknown|1794715875|08:00:00|None|scratchflow:aws:1"
    got = accounted_job(f"{line}\n", 7, "alice")
    assert got is not None
    assert (got.state, got.cause, got.nodes) == ("ended", "cancelled", ())
    assert (got.start_time, got.end_time) == (None, 1794715875)
    assert accounted_job(f"{line}\n", 7, "bob") is None
    assert accounted_job("", 7, "alice") is None


def test_a_job_that_ends_because_its_node_is_gone_says_so_while_the_others_are_cleaned() -> None:
    (found,) = jobs_in(squeue_line(state="COMPLETING", reason="NodeDown"), "alice")
    assert (found.state, found.cause, found.reason_text) == (
        "completing",
        "node_fail",
        "its node failed",
    )
    (found,) = jobs_in(squeue_line(state="COMPLETING", reason="None"), "alice")
    assert found.cause is None
