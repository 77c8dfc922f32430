"""`usage`, on the node: one look at CPUs, memory, scratch and GPUs that takes about half a second."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from scratchflow.cluster.command import Run, local_run
from scratchflow.model.requests import Nothing
from scratchflow.model.results.usage import CpuUse, MemoryUse, UsageRead
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.usage.cgroups import JobGroups, job_groups
from scratchflow.node.usage.gpus import gpus
from scratchflow.node.usage.machine import Busy, busy, disk, memory, percent

SAMPLE_S = 0.5
"""Between the two looks at processor time: a load is a difference."""


def show_usage(context: NodeContext, _: Notifier, __: Nothing) -> UsageRead:
    """Nothing is made or changed."""
    run = local_run({**os.environ, "LC_ALL": "C"})
    return read_usage(context.workspace.scratch, context.job_id, os.environ, run)


def read_usage(
    scratch: Path,
    job_id: int | None,
    environment: Mapping[str, str],
    run: Run,
    *,
    root: Path = Path("/"),
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> UsageRead:
    """What can be read; GPUs are asked about between the two looks at processor time."""
    groups = job_groups(job_id, root)
    first = _Moment.of(groups, root, monotonic())
    seen, unknown = gpus(environment, run)
    room = disk(scratch)
    sleep(max(0.0, first.at_s + SAMPLE_S - monotonic()))
    then = _Moment.of(groups, root, monotonic())
    return UsageRead(
        cpu=_cpu(groups, first, then, environment),
        memory=_memory(groups, root),
        scratch=room,
        gpus=seen,
        gpus_unknown=unknown,
    )


class _Moment(msgspec.Struct, frozen=True):
    """Processor time at one moment: the job's in seconds, the machine's in ticks."""

    at_s: float
    job_s: float | None
    machine: Busy | None

    @staticmethod
    def of(groups: JobGroups, root: Path, now_s: float) -> _Moment:
        return _Moment(at_s=now_s, job_s=groups.cpu_seconds(), machine=busy(root))


def _cpu(
    groups: JobGroups, first: _Moment, then: _Moment, environment: Mapping[str, str]
) -> CpuUse | None:
    """The job's own where its cgroup counts it, else the machine's."""
    passed_s = then.at_s - first.at_s
    machine = then.machine
    if first.job_s is not None and then.job_s is not None and passed_s > 0:
        given = environment.get("SLURM_CPUS_ON_NODE", "")
        cores = groups.cores() or (int(given) if given.isdigit() else 0)
        cores = cores or (machine.cores if machine else 0)
        if cores:
            return _use((then.job_s - first.job_s) / passed_s, cores, of_job=True)
    if machine is None or first.machine is None:
        return None
    ticks = machine.passed - first.machine.passed
    working = machine.working - first.machine.working
    share = working / ticks if ticks > 0 else 0.0
    return _use(share * machine.cores, machine.cores, of_job=False)


def _use(used: float, cores: int, *, of_job: bool) -> CpuUse:
    """Two counters that are not read in the same moment may give a little more than there is."""
    used = min(max(0.0, used), float(cores))
    share = round(100 * used / cores)
    return CpuUse(used=round(used, 1), cores=cores, percent=share, by="job" if of_job else "node")


def _memory(groups: JobGroups, root: Path) -> MemoryUse | None:
    """The job's own against its limit, which is all of the machine's where none is set; else the machine's."""
    machine, used = memory(root), groups.memory_bytes()
    if used is not None:
        limits = [groups.memory_limit_bytes(), machine[1] if machine else None]
        total = min((limit for limit in limits if limit), default=0)
        if total:
            used_percent = percent(used, total)
            return MemoryUse(used_bytes=used, total_bytes=total, percent=used_percent, by="job")
    if machine is None:
        return None
    used, total = machine
    return MemoryUse(used_bytes=used, total_bytes=total, percent=percent(used, total), by="node")
