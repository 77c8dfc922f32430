"""What is started inside a job is no part of that job, and the user's own defaults stay."""

from __future__ import annotations

import pytest

from scratchflow.cluster.job_variables import for_sbatch, is_in_job, without_outer_job

OF_A_JOB = {
    "SLURM_JOB_ID": "7",
    "SLURMD_NODENAME": "node-1",
    "SLURM_EXPORT_ENV": "NONE",
    "SLURM_CPU_BIND": "quiet,mask_cpu:0x1",
    "SRUN_CPUS_PER_TASK": "1",
    "SBATCH_MEM_BIND": "local",
    "SALLOC_PARTITION": "short",
    "PMI_RANK": "0",
    "PMIX_NAMESPACE": "slurm.pmix.7.0",
}
PLAIN = {"PATH": "/bin", "SLURM_CONF": "/etc/slurm.conf", "SLURM_JWT": "token"}


def test_nothing_of_the_job_around_us_reaches_what_we_start() -> None:
    assert without_outer_job({**PLAIN, **OF_A_JOB}) == PLAIN


def test_on_a_login_host_the_users_own_defaults_hold() -> None:
    own = {"SALLOC_ACCOUNT": "lab", "SBATCH_ACCOUNT": "lab"}
    assert without_outer_job({**PLAIN, **own, "SALLOC_NO_SHELL": "1"}) == {**PLAIN, **own}


@pytest.mark.parametrize("name", ["SLURM_JOB_ID", "SLURMD_NODENAME"])
def test_a_job_is_known_by_its_number_or_its_node(name: str) -> None:
    assert is_in_job({name: "7"})
    assert not is_in_job({"SLURM_CONF": "/etc/slurm.conf", name: ""})


def test_a_submitted_job_has_the_users_resources_and_nothing_that_makes_it_another_job() -> None:
    own = {"SBATCH_ACCOUNT": "lab", "SBATCH_PARTITION": "short", "SBATCH_WAIT_ALL_NODES": "1"}
    other = ("WAIT", "EXPORT", "ARRAY_INX", "JOB_NAME", "OPEN_MODE", "OUTPUT", "ERROR", "INPUT")
    more = ("REQUEUE", "NO_REQUEUE", "CLUSTERS", "SIGNAL", "GET_USER_ENV", "CONTAINER")
    changes = {f"SBATCH_{name}": "1" for name in (*other, *more)}
    assert for_sbatch({**PLAIN, **own, **changes, "SLURM_HINT": "x"}) == {**PLAIN, **own}
