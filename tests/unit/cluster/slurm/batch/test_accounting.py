"""What `sacct` prints about submitted jobs; `tests/cluster/test_accounting.py` asks a real one."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.batch.accounting import (
    Accounted,
    accounted_tasks,
    task_numbers,
    tasks_in,
)
from tests.unit.cluster.slurm.conftest import Cluster

JOB = "20261115T093000Z-3f2a9c"
NAME = f"train:{JOB}"
PRINTED = f"""\
13|12_0|alice|OUT_OF_MEMORY|0:125|100|200|n1||00:01.500|4G|None|{NAME}
13.batch|12_0.batch||OUT_OF_MEMORY|0:125|100|200|n1|1024K|00:01||  |batch
13.0|12_0.0||OUT_OF_MEMORY|0:125|100|200|n1|4194304K|00:01||  |python
14|12_1|alice|CANCELLED by 20001|0:15|100|Unknown|None assigned||1-02:03:04|4G|None|{NAME}
15|15|alice|COMPLETED|0:0|100|200|n1||00:00:00|4G|None|shell
16|16|bob|COMPLETED|0:0|100|200|n1||00:00:00|4G|None|{NAME}
17|12_2|alice|FAILED|137:0|100|200|n1||00:00:00|4G|None|{NAME}
17.batch|12_2.batch||FAILED|137:0|100|200|n1|0|00:00||  |batch
17.0|12_2.0||OUT_OF_MEMORY|0:125|100|200|n1||00:00||  |python
"""


def test_memory_is_the_peak_of_the_steps() -> None:
    first, second, _ = tasks_in(PRINTED, "alice")
    assert (first.task, first.state, first.code, first.signal) == (0, "OUT_OF_MEMORY", 0, 125)
    assert (first.peak_memory_bytes, first.cpu_s, first.asked_memory) == (4 << 30, 1.5, "4G")
    assert (first.start, first.end, first.node) == (100, 200, "n1")
    assert (second.state, second.cancelled_by, second.signal) == ("CANCELLED", 20001, 15)
    assert (second.cpu_s, second.end, second.node) == (93784, None, "")


def test_a_job_whose_step_was_killed_for_its_memory_ran_out_of_memory() -> None:
    third = tasks_in(PRINTED, "alice")[2]
    assert (third.state, third.code, third.peak_memory_bytes) == ("OUT_OF_MEMORY", 137, None)


@pytest.mark.parametrize(
    ("exit_code", "used", "state"),
    [
        ("0:9", "590340K", "OUT_OF_MEMORY"),
        ("0:9", "100000K", "FAILED"),
        ("1:0", "590340K", "FAILED"),
    ],
)
def test_so_did_one_that_slurm_killed_when_it_used_more_than_it_asked_for(
    exit_code: str, used: str, state: str
) -> None:
    """As Slurm 22.05 with `OverMemoryKill` printed it."""
    lines = f"4|4|alice|FAILED|9:0|100|200|n1||00:00.370|300M|None|{NAME}\n"
    lines += "4.batch|4.batch||FAILED|9:0|100|200|n1|9716K|00:00.012|||batch\n"
    lines += f"4.0|4.0||CANCELLED by 0|{exit_code}|100|200|n1|{used}|00:00.357|||python3\n"
    (task,) = tasks_in(lines, "alice")
    assert task.state == state


def test_tasks_that_never_started_share_a_line() -> None:
    line = f"12|12_[3-5,7%2]|alice|CANCELLED by 0|0:0|Unknown|200|None assigned||00:00:00|4G|None|{NAME}\n"
    assert [(task.task, task.cancelled_by) for task in tasks_in(line, "alice")] == [
        (3, 0),
        (4, 0),
        (5, 0),
        (7, 0),
    ]


@pytest.mark.parametrize(
    ("shown", "numbers"),
    [("12", [0]), ("12_0", [0]), ("12_[4]", [4]), ("12_[1,3,...]", []), ("12+0", []), ("", [])],
)
def test_what_a_line_is_about(shown: str, numbers: list[int]) -> None:
    assert task_numbers(shown) == numbers


def test_without_accounting_nothing_is_known_and_sacct_is_not_asked(cluster: Cluster) -> None:
    assert accounted_tasks(cluster.slurm, [12]) == Accounted(exists=False)
    assert not [argv for argv in cluster.fake.asked if argv[0] == "sacct"]


def test_one_question_for_all_of_them(cluster: Cluster) -> None:
    cluster.fake.accounted = {12: PRINTED}
    assert [task.task for task in accounted_tasks(cluster.slurm, [12]).tasks] == [0, 1, 2]
    assert sum(argv[0] == "sacct" for argv in cluster.fake.asked) == 1
