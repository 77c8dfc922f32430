"""Whether steps can overlap is what `srun` says, and nothing is started to learn it."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.overlap import has_binding, has_overlap, srun_version
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.testing.command import completed
from scratchflow.testing.slurm import FakeSlurm


@pytest.mark.parametrize(
    ("overlap", "version"), [(True, "slurm-wlm 22.05.8"), (False, "slurm 19.05.5")]
)
def test_srun_is_asked_whether_it_knows_the_option(overlap: bool, version: str) -> None:
    fake = FakeSlurm(overlap=overlap)
    slurm = Slurm(fake, "alice", "login")
    assert has_overlap(slurm) is overlap
    assert srun_version(slurm) == version
    assert all(argv[-1] == "--version" for argv in fake.asked)


@pytest.mark.parametrize(
    ("plugin", "binding"),
    [
        ("task/none", False),
        ("(null)", False),
        ("task/cgroup", True),
        ("task/cgroup,task/affinity", True),
    ],
)
def test_a_cluster_without_a_task_plugin_binds_nothing(plugin: str, binding: bool) -> None:
    assert has_binding(Slurm(FakeSlurm(task_plugin=plugin), "alice", "login")) is binding


def test_an_srun_that_cannot_run_is_no_answer() -> None:
    failed = completed(1, "", "srun: fatal: Could not establish a configuration source\n")
    with pytest.raises(SlurmUnreachable, match="configuration source"):
        has_overlap(Slurm(lambda *_: failed, "alice", "login"))
    broken = completed(127, "", "srun: error while loading shared libraries\n")
    with pytest.raises(SlurmUnreachable, match="shared libraries"):
        has_overlap(Slurm(lambda *_: broken, "alice", "login"))
