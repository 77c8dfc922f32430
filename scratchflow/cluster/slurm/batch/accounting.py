"""What `sacct` knows of ended jobs, where there is accounting: their end, exit code, memory and processor time."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from scratchflow.cluster.slurm.batch.names import job_of_name
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.job_text import is_number, slurm_epoch
from scratchflow.cluster.slurm.jobs import has_accounting
from scratchflow.cluster.slurm.states import base_state
from scratchflow.model.errors import SlurmUnreachable
from scratchflow.model.units import parse_size

_FIELDS = (
    "JobIDRaw,JobID,User,State,ExitCode,Start,End,NodeList,MaxRSS,TotalCPU,ReqMem,Reason,JobName"
)
_COUNT = _FIELDS.count(",") + 1
_BY = re.compile(r"CANCELLED by (\d+)", re.ASCII)
_TASK = re.compile(r"\d+_(\d+)", re.ASCII)
_CPU = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)(?:\.(\d+))?", re.ASCII)


class AccountedTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a submitted job as accounting has it; what it does not say is None or empty."""

    job: str
    job_id: int
    task: int
    state: str
    code: int | None = None
    signal: int | None = None
    cancelled_by: int | None = None
    """The number of the user who did."""
    node: str = ""
    start: int | None = None
    end: int | None = None
    peak_memory_bytes: int | None = None
    cpu_s: float | None = None
    asked_memory: str = ""
    reason: str = ""


def accounted_tasks(slurm: Slurm, numbers: Iterable[int]) -> list[AccountedTask]:
    """The tasks of these jobs; none without accounting, or while its database does not answer."""
    wanted = ",".join(str(number) for number in sorted(set(numbers)))
    if not wanted or not has_accounting(slurm):
        return []
    argv = ["sacct", f"--jobs={wanted}", "--noheader", "--parsable2", f"--format={_FIELDS}"]
    try:
        done = slurm.ask(argv)
    except SlurmUnreachable:
        return []
    return tasks_in(done.text, slurm.user) if done.returncode == 0 else []


def tasks_in(text: str, user: str) -> list[AccountedTask]:
    """What `sacct` printed: a line for each task, and after it one for each of its steps."""
    rows = [line.split("|", _COUNT - 1) for line in text.splitlines()]
    whole = [row for row in rows if len(row) == _COUNT]
    peaks: dict[str, int] = {}
    for row in whole:
        raw, _, step = row[0].partition(".")
        if step and (peak := _size(row[8])) is not None:
            peaks[raw] = max(peak, peaks.get(raw, 0))
    tasks = (_task(row, peaks) for row in whole if is_number(row[0]) and row[2] == user)
    return [task for task in tasks if task is not None]


def _task(row: list[str], peaks: dict[str, int]) -> AccountedTask | None:
    raw, shown, _, state, exit_code, start, end, nodes, _, cpu, memory, reason, name = row
    job = job_of_name(name)
    if job is None:
        return None
    number = _TASK.fullmatch(shown)
    by = _BY.match(state)
    code, signum = _exit_code(exit_code)
    return AccountedTask(
        job=job,
        job_id=int(raw),
        task=int(number[1]) if number else 0,
        state=base_state(state),
        code=code,
        signal=signum,
        cancelled_by=int(by[1]) if by else None,
        node="" if nodes in {"None assigned", "(null)"} else nodes,
        start=slurm_epoch(start),
        end=slurm_epoch(end),
        peak_memory_bytes=peaks.get(raw),
        cpu_s=_cpu_seconds(cpu),
        asked_memory=memory,
        reason="" if reason == "None" else reason,
    )


def _exit_code(text: str) -> tuple[int | None, int | None]:
    code, _, signum = text.partition(":")
    if not is_number(code) or not is_number(signum):
        return None, None
    return int(code), int(signum) or None


def _size(text: str) -> int | None:
    try:
        return parse_size(text) if text else None
    except ValueError:
        return None


def _cpu_seconds(text: str) -> float | None:
    match = _CPU.fullmatch(text)
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:4])
    return days * 86400 + hours * 3600 + minutes * 60 + seconds + float(f"0.{match[5] or 0}")
