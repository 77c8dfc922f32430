"""A job that could never start is not submitted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.login.jobs.rerun import rerun_job
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.jobs import JobImpossible
from scratchflow.model.requests import RerunJob, Submit
from tests.unit.login.jobs.conftest import Cluster


def ask_for(cluster: Cluster, **slurm: Any) -> None:
    options = msgspec.structs.replace(cluster.profile.slurm, **slurm)
    profile = msgspec.structs.replace(cluster.profile, slurm=options)
    cluster.settings = msgspec.structs.replace(cluster.settings, profile=profile)


@pytest.mark.parametrize(
    ("slurm", "given", "said"),
    [
        ({"time": "5-00:00:00"}, ("time",), "`--time 5-00:00:00` is more than the"),
        ({"time": "5-00:00:00"}, (), "`slurm.time = 5-00:00:00` is more than the"),
        ({"cpus_per_task": 40}, ("cpus_per_task",), "`--cpus 40` is more than the"),
    ],
)
def test_what_is_too_much_is_named_and_nothing_is_submitted(
    cluster: Cluster, slurm: dict[str, Any], given: tuple[str, ...], said: str
) -> None:
    ask_for(cluster, **slurm)
    with pytest.raises(JobImpossible) as caught:
        submit(cluster.login, Submit(command=("true",), given=given))
    assert said in str(caught.value)
    assert not cluster.fake.jobs


def test_a_qos_may_allow_more(cluster: Cluster) -> None:
    ask_for(cluster, time="5-00:00:00", qos="long")
    assert submit(cluster.login, Submit(command=("true",))).number


@pytest.mark.parametrize(
    ("qos_flags", "job_submit"), [(["", "PartitionTimeLimit"], "(null)"), (None, "job_submit/lua")]
)
def test_where_the_site_may_allow_more_slurm_decides(
    cluster: Cluster, qos_flags: list[str] | None, job_submit: str
) -> None:
    """A QOS that is the user's without being asked for, or a program that chooses the partition by the time."""
    cluster.fake.qos_flags, cluster.fake.job_submit = qos_flags, job_submit
    ask_for(cluster, time="5-00:00:00")
    assert submit(cluster.login, Submit(command=("true",))).number


def test_no_qos_gives_a_node_more_processors(cluster: Cluster) -> None:
    cluster.fake.qos_flags = ["PartitionTimeLimit"]
    ask_for(cluster, time="5-00:00:00", cpus_per_task=40)
    with pytest.raises(JobImpossible) as caught:
        submit(cluster.login, Submit(command=("true",)))
    assert "cpus_per_task = 40" in str(caught.value)
    assert "slurm.time" not in str(caught.value)


def test_of_nodes_that_are_off_nobody_knows_what_they_have(cluster: Cluster) -> None:
    """Partitions name cloud nodes that `scontrol show node` does not list."""
    del cluster.fake.nodes["node-3"]
    ask_for(cluster, cpus_per_task=40)
    assert submit(cluster.login, Submit(command=("true",))).number


@pytest.mark.parametrize("option", ["--overcommit", "-Mother", "--reservation=maintenance"])
def test_an_option_that_changes_what_there_is_leaves_it_to_slurm(
    cluster: Cluster, option: str
) -> None:
    ask_for(cluster, cpus_per_task=40)
    assert submit(cluster.login, Submit(command=("true",), sbatch=(option,))).number


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--time=5-0", "`--sbatch=--time=5-0` is more than the 10 min"),
        ("--ntasks=8", "`--sbatch=--ntasks=8` is more than the 4 CPUs"),
        ("-n8", "`--sbatch=-n8` is more than the 4 CPUs"),
        ("-c8", "`--sbatch=-c8` is more than the 4 CPUs"),
    ],
)
def test_the_option_of_sbatch_that_is_too_much_is_named(
    cluster: Cluster, option: str, said: str
) -> None:
    ask_for(cluster, cpus_per_task=1, time="5:00")
    given = ("cpus_per_task", "time")
    with pytest.raises(JobImpossible) as caught:
        submit(cluster.login, Submit(command=("true",), sbatch=(option,), given=given))
    assert said in str(caught.value)
    assert f"change `--sbatch={option}`" in caught.value.shown_hint


@pytest.mark.parametrize("line", ["--cpus-per-task=40", "-c 40"])
def test_the_line_of_a_script_that_is_too_much_is_named(cluster: Cluster, line: str) -> None:
    cluster.desk.write("work/long.sh", f"#!/bin/bash\n#SBATCH {line}\ntrue\n")
    cluster.desk.backup()
    with pytest.raises(JobImpossible, match=f"`#SBATCH {line}` is more than"):
        submit(cluster.login, Submit(script="long.sh"))
    ask_for(cluster, cpus_per_task=50)
    with pytest.raises(JobImpossible, match="`--cpus 50` is more than"):
        submit(cluster.login, Submit(script="long.sh", given=("cpus_per_task",)))


def test_what_the_profile_adds_to_every_job_is_no_flag_that_was_typed(cluster: Cluster) -> None:
    ask_for(cluster, cpus_per_task=1, extra=["--cpus-per-task", "40"])
    with pytest.raises(JobImpossible, match=r"`slurm\.cpus_per_task = 40` is more than"):
        submit(cluster.login, Submit(command=("true",), given=("cpus_per_task",)))


def test_options_that_cannot_be_read_are_left_to_slurm(cluster: Cluster) -> None:
    asked = Submit(command=("true",), sbatch=("--gpus=a100:1",))
    assert submit(cluster.login, asked).number


def test_a_rerun_is_looked_at_too(cluster: Cluster) -> None:
    job = submit(cluster.login, Submit(command=("true",)))
    with pytest.raises(JobImpossible, match="--cpus 40"):
        rerun_job(cluster.login, RerunJob(wanted=job.job, slurm={"cpus_per_task": 40}))
