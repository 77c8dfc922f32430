"""What `sacct` knows of ended jobs, where there is accounting: their end, exit code, memory and processor time."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable

import msgspec

from scratchflow.cluster.slurm.batch.names import job_of_name
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.job_text import is_number, slurm_epoch
from scratchflow.cluster.slurm.jobs import has_accounting
from scratchflow.cluster.slurm.states import base_state
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.units import parse_size

_FIELDS = (
    "JobIDRaw,JobID,User,State,ExitCode,Start,End,NodeList,MaxRSS,TotalCPU,ReqMem,Reason,JobName"
)
_COUNT = _FIELDS.count(",") + 1
_BY = re.compile(r"CANCELLED by (\d+)", re.ASCII)
_RANGE = r"\d{1,7}(?:-\d{1,7})?"
_TASK = re.compile(rf"\d+_(?:(\d+)|\[({_RANGE}(?:,{_RANGE})*)(?:%\d+)?\])", re.ASCII)
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


class Accounted(msgspec.Struct, frozen=True):
    """What accounting said; `exists` is off where there is none, `answered` while its database is away."""

    tasks: list[AccountedTask] = []
    exists: bool = True
    answered: bool = True


def accounted_tasks(slurm: Slurm, numbers: Iterable[int]) -> Accounted:
    """The tasks of these jobs, in one question; none is asked where there is no accounting."""
    wanted = ",".join(str(number) for number in sorted(set(numbers)))
    if not wanted:
        return Accounted()
    if not has_accounting(slurm):
        return Accounted(exists=False)
    argv = ["sacct", f"--jobs={wanted}", "--noheader", "--parsable2", f"--format={_FIELDS}"]
    try:
        done = slurm.ask(argv)
    except SlurmUnreachable:
        return Accounted(answered=False)
    if done.returncode != 0:
        return Accounted(answered=False)
    return Accounted(tasks_in(done.text, slurm.user))


def tasks_in(text: str, user: str) -> list[AccountedTask]:
    """What `sacct` printed: a line for each task, and after it one for each of its steps."""
    rows = [line.split("|", _COUNT - 1) for line in text.splitlines()]
    whole = [row for row in rows if len(row) == _COUNT]
    steps: dict[str, _Steps] = {}
    for row in whole:
        raw, _, step = row[0].partition(".")
        if step:
            steps.setdefault(raw, _Steps()).add(row)
    return [
        task
        for row in whole
        if is_number(row[0]) and row[2] == user
        for task in _tasks(row, steps.get(row[0], _Steps()))
    ]


class _Steps:
    """What the lines of a task's steps say together."""

    def __init__(self) -> None:
        self.peak_bytes, self.killed_at_bytes, self.ran_out_of_memory = 0, 0, False

    def add(self, row: list[str]) -> None:
        peak_bytes = _size(row[8]) or 0
        self.peak_bytes = max(self.peak_bytes, peak_bytes)
        if _exit_code(row[4])[1] == signal.SIGKILL:
            self.killed_at_bytes = max(self.killed_at_bytes, peak_bytes)
        self.ran_out_of_memory |= base_state(row[3]) == "OUT_OF_MEMORY"


def _tasks(row: list[str], steps: _Steps) -> list[AccountedTask]:
    """The task of this line, or all that it stands for: tasks that never started share one."""
    raw, shown, _, state, exit_code, start, end, nodes, _, cpu, memory, reason, name = row
    job = job_of_name(name)
    numbers = task_numbers(shown)
    if job is None or not numbers:
        return []
    by = _BY.match(state)
    code, signum = _exit_code(exit_code)
    first = AccountedTask(
        job=job,
        job_id=int(raw),
        task=numbers[0],
        state=_true_state(base_state(state), steps, _size(memory.removesuffix("n"))),
        code=code,
        signal=signum,
        cancelled_by=int(by[1]) if by else None,
        node="" if nodes in {"None assigned", "(null)"} else nodes,
        start=slurm_epoch(start),
        end=slurm_epoch(end),
        peak_memory_bytes=steps.peak_bytes or None,  # nobody looked while it ran
        cpu_s=_cpu_seconds(cpu),
        asked_memory=memory,
        reason="" if reason == "None" else reason,
    )
    return [msgspec.structs.replace(first, task=number) for number in numbers]


def task_numbers(shown: str) -> list[int]:
    """Of `12_3` the 3, of `12_[0-2,7%4]` 0, 1, 2 and 7, of `12` the 0; none of what is cut short."""
    match = _TASK.fullmatch(shown)
    if match is None:
        return [0] if is_number(shown) else []
    numbers: list[int] = []
    for part in (match[1] or match[2]).split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _true_state(state: str, steps: _Steps, asked_bytes: int | None) -> str:
    """A job whose step was killed for its memory may be called FAILED itself: the step's exit code is its own.

    Where memory is watched and not fenced in (`OverMemoryKill`), Slurm does not even call the step so.
    """
    is_over = asked_bytes is not None and 0 < asked_bytes < steps.killed_at_bytes
    return "OUT_OF_MEMORY" if state == "FAILED" and (steps.ran_out_of_memory or is_over) else state


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
