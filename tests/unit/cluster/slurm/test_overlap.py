"""Whether steps can overlap is what `srun` says, and nothing is started to learn it."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.overlap import has_overlap, srun_version
from scratchflow.cluster.this_host import job_id, node_name, role, slurm_variables, step_id
from scratchflow.model.errors import SlurmUnreachable
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


def test_an_srun_that_cannot_run_is_no_answer() -> None:
    failed = completed(1, "", "srun: fatal: Could not establish a configuration source\n")
    with pytest.raises(SlurmUnreachable, match="configuration source"):
        has_overlap(Slurm(lambda *_: failed, "alice", "login"))
    broken = completed(127, "", "srun: error while loading shared libraries\n")
    with pytest.raises(SlurmUnreachable, match="shared libraries"):
        has_overlap(Slurm(lambda *_: broken, "alice", "login"))


def test_what_is_told_over_ssh_is_what_a_step_would_read_but_for_its_number() -> None:
    environment = {"PATH": "/opt/slurm/bin:/usr/bin", "SLURM_CONF": "/etc/s.conf", "SECRET": "x"}
    result = dict(word.split("=", 1) for word in slurm_variables(7, "node-1", environment))
    assert (role(result), node_name(result), job_id(result), step_id(result)) == (
        "node",
        "node-1",
        7,
        None,
    )
    assert (result["PATH"], result["SLURM_CONF"]) == (
        environment["PATH"],
        environment["SLURM_CONF"],
    )
    assert "SECRET" not in result
