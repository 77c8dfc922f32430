"""The step on the further nodes of a job: which nodes, and nothing of the job's own options."""

from __future__ import annotations

from scratchflow.cluster.slurm.batch.further import (
    further_argv,
    further_environment,
    further_nodes,
    is_on_several,
)

JOB = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NUM_NODES": "3",
    "SLURM_JOB_NODELIST": "node-[1-3]",
    "SLURMD_NODENAME": "node-1",
    "SLURM_NTASKS": "12",
    "SLURM_CONF": "/c",
    "PATH": "/bin",
}


def test_all_nodes_but_this_one_run_it_once() -> None:
    assert is_on_several(JOB)
    assert not is_on_several({})
    nodes = further_nodes(JOB)
    assert nodes == ["node-2", "node-3"]
    argv = further_argv(nodes, ["agent"])
    assert {"--ntasks=2", "--nodes=2", "--nodelist=node-2,node-3"} <= set(argv)
    assert argv[-2:] == ["--", "agent"]


def test_it_knows_its_job_and_none_of_its_options() -> None:
    assert further_environment(JOB) == {"SLURM_JOB_ID": "7", "SLURM_CONF": "/c", "PATH": "/bin"}
