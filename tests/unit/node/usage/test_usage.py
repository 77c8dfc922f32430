"""`usage` on the node: the job's own figures where there are some, else the machine's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from scratchflow.model.requests import Nothing
from scratchflow.model.results.usage import CpuUse, MemoryUse, UsageRead
from scratchflow.node.progress import Notifier
from scratchflow.node.usage.usage import SAMPLE_S, read_usage, show_usage
from scratchflow.process.child import Completed
from tests.unit.conftest import Desk
from tests.unit.node.usage.test_cgroups import tree, version_1, version_2

STAT = "cpu  {working} 0 0 {idle} 0 0 0 0\ncpu0\ncpu1\ncpu2\ncpu3\n"
MEMORY = "MemTotal: 8 kB\nMemAvailable: 6 kB\n"


def no_program(argv: Sequence[str], timeout_s: float) -> Completed:
    raise AssertionError((argv, timeout_s))


def read(
    root: Path,
    passes: Callable[[], object],
    job_id: int | None = 7,
    environment: Mapping[str, str] | None = None,
) -> UsageRead:
    """With a clock that goes on by what is slept, while `passes` happens."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        passes()

    return read_usage(
        root,
        job_id,
        environment or {"PATH": ""},
        no_program,
        root=root,
        monotonic=lambda: 100 + sum(slept),
        sleep=sleep,
    )


@pytest.mark.parametrize(
    ("version", "counter", "later"),
    [
        (
            version_2,
            "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/cpu.stat",
            "usage_usec 4250000",
        ),
        (version_1, "sys/fs/cgroup/cpu,cpuacct/slurm/uid_1000/job_7/cpuacct.usage", "4250000000"),
    ],
)
def test_the_job_is_shown_against_what_it_may_use(
    tmp_path: Path, version: Callable[[Path], Path], counter: str, later: str
) -> None:
    root = version(tmp_path)
    tree(root, {"proc/stat": STAT.format(working=0, idle=0), "proc/meminfo": MEMORY})
    for name in root.rglob("cpuset.cpus*"):
        name.write_text("0-6\n")
    seen = read(root, lambda: (root / counter).write_text(later))
    # 1.75 s of work in half a second
    assert seen.cpu == CpuUse(used=3.5, cores=7, percent=50, by="job")
    assert seen.memory == MemoryUse(used_bytes=700, total_bytes=4096, percent=18, by="job")
    assert seen.scratch is not None


def test_without_a_cgroup_it_is_the_machine(tmp_path: Path) -> None:
    root = tree(tmp_path, {"proc/stat": STAT.format(working=10, idle=90), "proc/meminfo": MEMORY})
    later = STAT.format(working=160, idle=140)
    seen = read(root, lambda: (root / "proc/stat").write_text(later))
    assert seen.cpu == CpuUse(used=3.0, cores=4, percent=75, by="node")
    assert seen.memory == MemoryUse(used_bytes=2048, total_bytes=8192, percent=25, by="node")


def test_a_job_without_a_limit_may_use_all_of_the_machine(tmp_path: Path) -> None:
    root = version_2(tmp_path, limit="max")
    tree(root, {"proc/meminfo": MEMORY})
    seen = read(root, lambda: None)
    assert seen.memory == MemoryUse(used_bytes=700, total_bytes=8192, percent=9, by="job")


def test_cores_that_no_cgroup_names_are_those_that_slurm_gave(tmp_path: Path) -> None:
    root = version_2(tmp_path)
    for name in root.rglob("cpuset.cpus*"):
        name.unlink()
    seen = read(root, lambda: None, environment={"PATH": "", "SLURM_CPUS_ON_NODE": "3"})
    assert seen.cpu == CpuUse(used=0.0, cores=3, percent=0, by="job")


def test_where_nothing_can_be_read_nothing_is_said(tmp_path: Path) -> None:
    seen = read(tmp_path, lambda: None, job_id=None)
    assert (seen.cpu, seen.memory, seen.gpus) == (None, None, [])


@pytest.mark.slow
def test_this_machine_is_read_as_it_is(desk: Desk) -> None:
    assert SAMPLE_S > 0
    seen = show_usage(desk.context, Notifier(lambda _: None), Nothing())
    assert seen.cpu is not None
    assert seen.memory is not None
    assert seen.scratch is not None
    assert seen.scratch.path == str(desk.context.workspace.scratch)
    assert 0 < seen.memory.used_bytes < seen.memory.total_bytes
