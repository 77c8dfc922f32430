"""What `sacct` prints about submitted jobs, in lines written by hand from its manual: no test cluster has accounting."""

from __future__ import annotations

from scratchflow.cluster.slurm.batch.accounting import accounted_tasks, tasks_in
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
"""


def test_memory_is_the_peak_of_the_steps() -> None:
    first, second = tasks_in(PRINTED, "alice")
    assert (first.task, first.state, first.code, first.signal) == (0, "OUT_OF_MEMORY", 0, 125)
    assert (first.peak_memory_bytes, first.cpu_s, first.asked_memory) == (4 << 30, 1.5, "4G")
    assert (first.start, first.end, first.node) == (100, 200, "n1")
    assert (second.state, second.cancelled_by, second.signal) == ("CANCELLED", 20001, 15)
    assert (second.cpu_s, second.end, second.node) == (93784, None, "")


def test_without_accounting_nothing_is_known_and_sacct_is_not_asked(cluster: Cluster) -> None:
    assert accounted_tasks(cluster.slurm, [12]) == []
    assert not [argv for argv in cluster.fake.asked if argv[0] == "sacct"]


def test_one_question_for_all_of_them(cluster: Cluster) -> None:
    cluster.fake.accounted = {12: PRINTED}
    assert [task.task for task in accounted_tasks(cluster.slurm, [12])] == [0, 1]
    assert sum(argv[0] == "sacct" for argv in cluster.fake.asked) == 1
