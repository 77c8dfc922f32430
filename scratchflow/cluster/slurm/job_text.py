"""What `squeue`, `scontrol` and `sacct` print about a job, read into an Allocation.

Node lists stay as printed, in one piece; slurm_jobs.py expands them.
"""

from __future__ import annotations

import re
import time

from scratchflow.cluster.slurm.states import CAUSE_TEXTS, state_of
from scratchflow.model.allocation import Allocation

# A separator that no reason holds; Slurm 20.11 to 24.11 print all of these fields alike and uncut.
# The name is last: it may hold anything.
_SEPARATOR = "\x1f"
_FIELDS = ("%A", "%T", "%u", "%P", "%N", "%S", "%e", "%l", "%r", "%j")
SQUEUE_FORMAT = "--format=" + _SEPARATOR.join(_FIELDS)

_SACCT_FIELDS = "JobIDRaw,State,User,Partition,NodeList,Start,End,Timelimit,Reason,JobName"
SACCT_FORMAT = f"--format={_SACCT_FIELDS}"

_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
# Why a job ends whose node is gone; its state says so only after the other nodes are cleaned.
_NODE_DOWN = "NodeDown"
_NO_NODES = {"", "(null)", "None assigned", "None"}


def jobs_in(text: str, user: str) -> list[Allocation]:
    """Every line that is a job of this user, by number; others are headings, or torn names."""
    rows = [line.split(_SEPARATOR, len(_FIELDS) - 1) for line in text.split("\n")]
    jobs = [
        row
        for row in rows
        if len(row) == len(_FIELDS) and is_number(row[0]) and row[2].strip() == user
    ]
    return [_allocation(row) for row in sorted(jobs, key=lambda row: int(row[0]))]


def shown_job(text: str, user: str) -> Allocation | None:
    """The job in what `scontrol --oneliner show job` printed, if it is this user's."""

    def value(key: str) -> str:
        match = re.search(rf"(?:^|\s){key}=(\S*)", text)
        return match[1] if match else ""

    if not is_number(value("JobId")) or value("UserId").partition("(")[0] != user:
        return None
    keys = ("JobId", "JobState", "Partition", "NodeList", "StartTime", "EndTime", "TimeLimit")
    number, state, partition, nodes, start, end, limit = (value(key) for key in keys)
    row = [number, state, user, partition, nodes, start, end, limit, value("Reason")]
    return _allocation([*row, value("JobName")])


def accounted_job(text: str, job_id: int, user: str) -> Allocation | None:
    """The job in what `sacct --parsable2 --allocations` printed."""
    # The name is last here too, so that a `|` in it does no harm.
    rows = [line.split("|", len(_FIELDS) - 1) for line in text.splitlines()]
    found = [row for row in rows if len(row) == len(_FIELDS) and row[0] == str(job_id)]
    return next((_allocation(row) for row in found if row[2] == user), None)


def _allocation(row: list[str]) -> Allocation:
    number, state_text, _, partition, nodes, start, end, limit, reason, name = row
    state, cause = state_of(state_text)
    waits = state == "pending"
    unlimited = limit.strip().upper() in {"UNLIMITED", "INFINITE"} and state != "ended"
    word = reason.strip()
    if state == "completing" and word == _NODE_DOWN:
        cause = "node_fail"
    return Allocation(
        job_id=int(number),
        name=name,
        state=state,
        cause=cause,
        reason=word,
        reason_text=CAUSE_TEXTS[cause] if cause else _in_words(word) if waits else "",
        nodes=() if waits or nodes.strip() in _NO_NODES else (nodes.strip(),),
        partition=partition.strip(),
        start_time=None if waits else slurm_epoch(start),
        end_time=None if waits or unlimited else slurm_epoch(end),
        start_estimate=slurm_epoch(start) if waits else None,
    )


def _in_words(reason: str) -> str:
    from scratchflow.cluster.slurm.reasons import explain  # few jobs wait

    return explain(reason).text


def slurm_epoch(text: str) -> int | None:
    """Seconds since 1970; None for `N/A`, `Unknown`, `NONE` and whatever else is no time.

    A Slurm that does not know SLURM_TIME_FORMAT prints local time, and we run on the same host.
    """
    stripped = text.strip()
    if is_number(stripped):
        return int(stripped) or None
    if _ISO_TIME.fullmatch(stripped):
        return int(time.mktime(time.strptime(stripped, "%Y-%m-%dT%H:%M:%S")))
    return None


def is_number(text: str) -> bool:
    """Whether it is a plain number, as Slurm prints them."""
    return text.isascii() and text.isdigit()
