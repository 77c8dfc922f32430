"""The job's GPUs: everything that knows an option or a word of `nvidia-smi`."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, Run
from scratchflow.cluster.this_host import is_on_path
from scratchflow.model.results.usage import GpuUse
from scratchflow.node.usage.machine import percent

TIMEOUT_S = 4.0
_FIELDS = ("index", "uuid", "name", "utilization.gpu", "memory.used", "memory.total")
ARGV = ("nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits")
# No GPU was found; no driver is loaded. A node without GPUs may have the program all the same.
_NONE_HERE = {6, 9}
_MIB = 1024**2
_VISIBLE = "CUDA_VISIBLE_DEVICES"


def gpus(environment: Mapping[str, str], run: Run) -> tuple[list[GpuUse], str]:
    """Those that the job may use, and why they are not known if that is so."""
    if not is_on_path(ARGV[0], environment.get("PATH", "")):
        return [], ""
    try:
        done = run(ARGV, TIMEOUT_S)
    except (CommandMissing, CommandUnanswered) as error:
        return [], str(error)
    visible = environment.get(_VISIBLE)
    if done.returncode != 0:
        has_none = done.returncode in _NONE_HERE and not visible
        return [], "" if has_none else done.last_line
    return shown_gpus(done.text, visible), ""


def shown_gpus(text: str, visible: str | None) -> list[GpuUse]:
    """What it printed. `visible` is what Slurm gave to the job; None where it gives no such list.

    Slurm numbers them as `nvidia-smi` in the same job does: from 0 where others are hidden, else as the driver does.
    """
    wanted = None if visible is None else {one.strip() for one in visible.split(",")}
    rows = [[field.strip() for field in row] for row in csv.reader(text.splitlines())]
    return [
        _gpu(row)
        for row in rows
        if len(row) == len(_FIELDS)
        and row[0].isdigit()
        and (wanted is None or wanted & {row[0], row[1]})
    ]


def _gpu(row: Sequence[str]) -> GpuUse:
    busy, used, total = (_number(text) for text in row[3:])
    return GpuUse(
        index=int(row[0]),
        name=row[2],
        percent=busy,
        memory_used_bytes=None if used is None else used * _MIB,
        memory_total_bytes=None if total is None else total * _MIB,
        memory_percent=None if used is None or not total else percent(used, total),
    )


def _number(text: str) -> int | None:
    """`[N/A]` and `[Not Supported]` are none: a GPU that is cut into parts tells no load."""
    return int(text) if text.isascii() and text.isdigit() else None
