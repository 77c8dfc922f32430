"""What `status --usage` says of each node, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scratchflow.cli.tables import wrapped
from scratchflow.model.ages import for_people
from scratchflow.model.results.usage import CpuUse, DiskUse, GpuUse, MemoryUse, NodeUsage
from scratchflow.model.text import printable
from scratchflow.model.units import format_size


def usage_lines(usages: Sequence[NodeUsage], width: int | None) -> Iterator[str]:
    """A line for each node and each GPU; the node is named when there are several."""
    for usage in usages:
        of = f"{usage.node}: " if len(usages) > 1 else ""
        yield from wrapped(f"{'in use':<12} ", for_people(printable(of + _node(usage))), width)
        for gpu in usage.gpus:
            text = printable(of + _gpu(gpu))
            yield from wrapped(f"{f'GPU {gpu.index}':<12} ", text, width)


def _node(usage: NodeUsage) -> str:
    if usage.unknown:
        return f"not known: {usage.unknown}"
    parts = [
        _cpu(usage.cpu) if usage.cpu else "",
        _memory(usage.memory) if usage.memory else "",
        _disk(usage.scratch) if usage.scratch else "",
        f"GPUs not known: {usage.gpus_unknown}" if usage.gpus_unknown else "",
    ]
    return ", ".join(filter(None, parts))


def _cpu(cpu: CpuUse) -> str:
    whose = "" if cpu.by == "job" else " of the whole node"
    return f"{cpu.used:g} of {cpu.cores} cores{whose} ({cpu.percent} %)"


def _memory(memory: MemoryUse) -> str:
    whose = "" if memory.by == "job" else " of the whole node"
    return f"memory {_of(memory.used_bytes, memory.total_bytes)}{whose} ({memory.percent} %)"


def _disk(disk: DiskUse) -> str:
    return f"{disk.path} {_of(disk.used_bytes, disk.total_bytes)} ({disk.percent} %)"


def _gpu(gpu: GpuUse) -> str:
    busy = "" if gpu.percent is None else f": {gpu.percent} %"
    if gpu.memory_used_bytes is None or gpu.memory_total_bytes is None:
        return f"{gpu.name}{busy}"
    memory = _of(gpu.memory_used_bytes, gpu.memory_total_bytes)
    return f"{gpu.name}{busy or ':'}{',' if busy else ''} memory {memory} ({gpu.memory_percent} %)"


def _of(used_bytes: int, total_bytes: int) -> str:
    return f"{format_size(used_bytes)} of {format_size(total_bytes)}"
