"""A profile's `[slurm]` table becomes arguments, and nothing else."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

import msgspec
import pytest

from scratchflow.cluster.slurm.request import (
    job_name,
    job_of_command,
    login_shell_argv,
    profile_of,
    salloc_argv,
    shell_inside_argv,
    shell_on_node_argv,
    terminal_step_argv,
    until_job_runs,
)
from scratchflow.model.profile import SlurmOptions
from scratchflow.testing.slurm_programs import SlurmPrograms

NAME = "scratchflow:aws:3f2a9c"
NAMED = f"--job-name={NAME}"


def test_every_key_has_its_option() -> None:
    options = SlurmOptions(
        partition="dev",
        account="lab",
        time="2-12",
        nodes=2,
        ntasks=4,
        cpus_per_task=8,
        mem="32G",
        gpus=2,
        gres="nvme:1",
        qos="high",
        constraint="a100&ib",
        nodelist="n[1-2]",
        exclude="n3",
        exclusive=True,
        extra=["--oversubscribe", "-C", "x y"],
    )
    assert salloc_argv(options, NAME, detached=True) == [
        "salloc",
        NAMED,
        "--no-shell",
        "--partition=dev",
        "--account=lab",
        "--time=2-12",
        "--nodes=2",
        "--ntasks=4",
        "--cpus-per-task=8",
        "--mem=32G",
        "--gpus=2",
        "--gres=nvme:1",
        "--qos=high",
        "--constraint=a100&ib",
        "--nodelist=n[1-2]",
        "--exclude=n3",
        "--exclusive",
        "--oversubscribe",
        "-C",
        "x y",
        NAMED,
    ]


def test_every_key_of_the_profile_is_known_here() -> None:
    filled = {"time": "9", "mem": "9M", "exclusive": True, "extra": ["--z"]}
    for key in SlurmOptions.__struct_fields__:
        value = filled.get(key, 9 if not isinstance(getattr(SlurmOptions(), key), str) else "v")
        options = msgspec.convert({key: value}, SlurmOptions)
        changed = salloc_argv(options, NAME, detached=True)
        assert changed != salloc_argv(SlurmOptions(), NAME, detached=True), key


def test_what_is_empty_is_not_asked_for() -> None:
    asked = salloc_argv(SlurmOptions(time=""), NAME, detached=True)
    assert asked == ["salloc", NAMED, "--no-shell", "--nodes=1", "--ntasks=1"]


def test_as_many_tasks_as_nodes_or_slurm_would_give_fewer_nodes() -> None:
    assert "--ntasks=3" in salloc_argv(SlurmOptions(nodes=3), NAME, detached=True)


def test_a_node_on_the_command_line_overrides_the_profile() -> None:
    asked = salloc_argv(SlurmOptions(nodelist="n1"), NAME, detached=True, node="n2")
    assert "--nodelist=n2" in asked
    assert "--nodelist=n1" not in asked


def test_held_by_tmux_salloc_runs_the_shell_on_the_node() -> None:
    command = shell_inside_argv("/bin/zsh")
    asked = salloc_argv(SlurmOptions(), NAME, detached=False, command=command)
    assert "--no-shell" not in asked
    srun = ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none"]
    srun += ["--pty", "/bin/zsh", "-l"]
    assert asked == ["salloc", NAMED, *asked[2 : -len(srun)], *srun]


def test_a_detached_job_is_joined_by_its_number() -> None:
    asked = shell_on_node_argv(7, "n1", login_shell_argv("/bin/bash"))
    assert asked[:4] == ["srun", "--overlap", "--nodes=1", "--ntasks=1"]
    assert asked[4:] == [
        "--cpu-bind=none",
        "--jobid=7",
        "--nodelist=n1",
        "--pty",
        "/bin/bash",
        "-l",
    ]


def test_an_srun_that_does_not_know_overlap_starts_the_shell_without() -> None:
    srun = ["srun", "--nodes=1", "--ntasks=1", "--cpu-bind=none"]
    there = shell_on_node_argv(7, "n1", login_shell_argv("/bin/bash", "/scratch/a b"))
    assert there[-3:] == ['cd -- "$1" 2>/dev/null; exec "$0" -l', "/bin/bash", "/scratch/a b"]
    joined = shell_on_node_argv(7, "n1", login_shell_argv("/bin/sh"), overlap=False)
    assert joined == [*srun, "--jobid=7", "--nodelist=n1", "--pty", "/bin/sh", "-l"]
    assert shell_inside_argv("/bin/sh", overlap=False) == [*srun, "--pty", "/bin/sh", "-l"]


def test_nothing_is_said_of_binding_where_nothing_is_bound() -> None:
    shell = login_shell_argv("/bin/sh")
    for argv in (
        shell_on_node_argv(7, "n1", shell, binding=False),
        shell_inside_argv("/bin/sh", binding=False),
        terminal_step_argv(7, "n1", binding=False),
    ):
        assert not any("--cpu-bind" in word for word in argv)
    assert "--cpu-bind=none" in terminal_step_argv(7, "n1")


def test_a_value_that_looks_like_an_option_stays_a_value() -> None:
    asked = salloc_argv(SlurmOptions(partition="--wrap=x", qos="; rm"), NAME, detached=True)
    assert "--partition=--wrap=x" in asked
    assert "--qos=; rm" in asked


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("4000", "4000"),  # Slurm: megabytes
        ("0", "0"),  # Slurm: all of the node
        ("32G", "32G"),
        ("32 G", "32G"),
        ("1.5T", "1572864M"),
        ("32GiB", "32768M"),
        ("1.0001K", "1M"),
    ],
)
def test_memory_is_written_as_slurm_reads_it(written: str, asked: str) -> None:
    assert f"--mem={asked}" in salloc_argv(SlurmOptions(mem=written), NAME, detached=True)


def test_the_name_tells_the_profile() -> None:
    assert job_name("gpu.big-1", "3f2a9c") == "scratchflow:gpu.big-1:3f2a9c"
    assert profile_of("scratchflow:gpu.big-1:3f2a9c") == "gpu.big-1"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "bash",
        "scratchflow",
        "scratchflow:aws",
        "scratchflow::x",
        "xscratchflow:a:b",
        "scratchflow:a:b:c",
        "scratchflow:a b:c",
        "scratchflow:a:b\n",
        "scratchflow:ä:b",
    ],
)
def test_other_names_are_nobody_of_ours(name: str) -> None:
    assert profile_of(name) is None


def test_a_name_that_could_not_be_found_again_is_refused() -> None:
    with pytest.raises(ValueError, match="not a job name"):
        job_name("two:parts", "x")


@pytest.mark.parametrize(
    ("command", "job"),
    [
        ('/bin/sh -c "…" sh srun --overlap --jobid=17 --nodelist=n1 --pty /bin/bash -l', 17),
        (f"salloc {NAMED} --no-shell --time=1 {NAMED}", NAME),
        ("salloc --job-name=mine", None),
        ("tail -F log", None),
    ],
)
def test_a_command_of_ours_tells_its_job(command: str, job: int | str | None) -> None:
    assert job_of_command(command) == job


@pytest.mark.parametrize(("state", "asked"), [("RUNNING", 1), ("COMPLETING", 2)])
@pytest.mark.slow
def test_a_shell_that_ended_with_its_job_is_waited_for_and_one_that_was_left_is_not(
    tmp_path: Path, state: str, asked: int
) -> None:
    programs = SlurmPrograms(tmp_path, pwd.getpwuid(os.getuid()).pw_name)
    with programs.slurm() as fake:
        number = fake.add(NAME, state=state)
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(["sh", "-ec", until_job_runs(number, 2)], env={"PATH": path}, check=True)
    with programs.slurm() as fake:
        assert len(fake.asked) == asked
