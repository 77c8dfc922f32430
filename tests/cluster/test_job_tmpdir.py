"""A site that gives each job a directory that goes with it, and binds each task to its CPUs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.laptop import SETUP, SHORT, Laptop
from tests.cluster.login import APP, install
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until

# ssh does not know a job's directory.
pytestmark = pytest.mark.usefixtures("job_steps")
# A step that is started from inside another one: what it finds in its environment, and its CPUs.
_STEP_FROM_INSIDE = """
import os, sys
from scratchflow.model.allocation import RunningAllocation
from scratchflow.reach.node import JobStep
held = RunningAllocation(job_id=int(sys.argv[1]), name="x", state="running", nodes=("node-1",))
for command in (["nproc"], ["env"]):
    print(JobStep(held, os.environ).run(command, timeout_s=60).text)
"""
_OUTER = {
    "PMI_RANK": "3",
    "SRUN_CPUS_PER_TASK": "1",
    "SBATCH_MEM_BIND": "local",
    "SALLOC_PARTITION": "gpu",
    "SLURM_EXPORT_ENV": "ALL",
}


@pytest.fixture(scope="module")
def minicluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minicluster]:
    """A cluster of its own."""
    place = tmp_path_factory.mktemp("site")
    (place / "extra").write_text("TaskPlugin=task/affinity\n")
    settings = {"MC_JOB_TMPDIR": "1", "MC_NODES": "2", "MC_SLURM_EXTRA": str(place / "extra")}
    cluster = Minicluster(place / "state", settings)
    try:
        cluster.run("up")
        yield cluster
    finally:
        cluster.run("down", "--purge")


@pytest.fixture
def job(minicluster: Minicluster) -> Iterator[str]:
    """A job on node-1 with two CPUs, made by hand."""
    yield minicluster.allocate("node-1", "--cpus-per-task=2")
    minicluster.exec("login", "scancel", "--user=alice")
    retry_until(lambda: minicluster.node_states()["node-1"] == "idle", "the node is free again")


def test_steps_know_the_jobs_directory_ssh_does_not_and_it_goes_with_the_job(
    minicluster: Minicluster, job: str
) -> None:
    tell = ["sh", "-c", 'stat --format="%n %U %a" "$SLURM_TMPDIR"']
    told = minicluster.login("srun", f"--jobid={job}", "--overlap", *tell).stdout
    assert told == f"/localscratch/alice.{job}.0 alice 700\n"
    assert minicluster.ssh("node-1", "printenv", "SLURM_TMPDIR", check=False).returncode == 1
    minicluster.login("scancel", job)
    gone = ["test", "!", "-e", f"/localscratch/alice.{job}.0"]
    retry_until(
        lambda: minicluster.exec("node-1", *gone, check=False).returncode == 0, "it is removed"
    )


def test_a_step_from_inside_a_narrow_one_has_the_jobs_cpus_and_nothing_of_the_outer_one(
    minicluster: Minicluster, job: str
) -> None:
    assert len(os.sched_getaffinity(0)) > 1, "with one CPU there is nothing to see"
    install(minicluster)
    outer = [f"{name}={value}" for name, value in {**_OUTER, "PYTHONPATH": APP}.items()]
    # The variables are set inside: `srun` would take them for its own.
    narrow = ["srun", f"--jobid={job}", "--overlap", "--ntasks=1", "--cpu-bind=map_cpu:0", "env"]
    assert minicluster.login(*narrow, "nproc").stdout == "1\n"
    inside = [*narrow, *outer, "python3", "-c", _STEP_FROM_INSIDE, job]
    cpus, *environment = minicluster.login(*inside).stdout.split()
    assert cpus == "2"
    names = {line.partition("=")[0] for line in environment}
    assert "SLURM_STEP_ID" in names
    assert names.isdisjoint(_OUTER)


@pytest.fixture
def per_job(laptop: Laptop, minicluster: Minicluster) -> Laptop:
    """A laptop whose profile has the jobs' directories for its scratch, and nothing stored."""
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    laptop.data("config", "set", "scratch", "$SLURM_TMPDIR")
    return laptop


def place_of(job_id: int) -> str:
    return f"/localscratch/alice.{job_id}.0/work"


def test_clear_and_up_bring_back_what_went_with_the_job(per_job: Laptop) -> None:
    first = per_job.data("up")
    assert first["workspace"]["path"] == place_of(first["job_id"])
    assert first["editor"]["link"].endswith(place_of(first["job_id"]))
    assert per_job.ssh(f"echo edit > {place_of(first['job_id'])}/file").returncode == 0
    shown = per_job.data("status")["workspace"]
    assert (shown["path"], shown["goes_with_job"]) == (place_of(first["job_id"]), True)
    saved = per_job.data("backup")["snapshot"]
    assert per_job.data("up")["changed"] is False
    assert per_job.data("clear")["snapshot"] == saved
    assert [node["warm"] for node in per_job.data("nodes")["nodes"]] == [None, None]
    assert per_job.data("status")["workspace"]["path"] == "$SLURM_TMPDIR/work"
    assert per_job.data("snapshots", "list")["snapshots"][-1]["id"] == saved
    again = per_job.data("up")
    assert again["workspace"]["action"] == "restored"
    assert per_job.ssh(f"cat {place_of(again['job_id'])}/file").stdout == "edit\n"


def test_a_job_that_is_cancelled_by_hand_leaves_a_last_snapshot(
    per_job: Laptop, minicluster: Minicluster
) -> None:
    job_id = per_job.data("up")["job_id"]
    assert per_job.ssh(f"echo late > {place_of(job_id)}/late").returncode == 0
    minicluster.login("scancel", str(job_id))
    retry_until(lambda: minicluster.jobs() == [], "the job has ended")

    def is_saved() -> bool:
        last = per_job.data("snapshots", "list")["snapshots"][-1]
        return (last["message"], last["files"]) == ("the job ends", 1)

    retry_until(is_saved, "the last snapshot is there")
    again = per_job.data("up")["job_id"]
    assert per_job.ssh(f"cat {place_of(again)}/late").stdout == "late\n"


@pytest.mark.slow
def test_a_session_of_ssh_on_the_node_means_the_same_directory(
    per_job: Laptop, minicluster: Minicluster
) -> None:
    job_id = per_job.data("up")["job_id"]
    node = per_job.data("status")["allocation"]["node"]
    (config,) = (per_job.home / "CONFIG").rglob("config.toml")
    text = config.read_text().replace('login = "login"', 'login = "local"')
    minicluster.shared("/home/alice/local.toml").write_text(text)
    agent = "sh .local/share/scratchflow/agent/current/start"
    asked = f"{agent} --config local.toml backup -m typed --json"
    assert per_job.ssh("printenv SLURM_TMPDIR").returncode == 1
    done = per_job.ssh(asked)
    assert done.returncode == 0, (node, done)
    assert json.loads(done.stdout.splitlines()[-1])["data"]["snapshot"]
    assert per_job.ssh(f"ls -d {place_of(job_id)}").returncode == 0


@pytest.mark.slow
def test_hop_takes_everything_to_the_directory_of_the_next_job(per_job: Laptop) -> None:
    first = per_job.data("up")
    assert per_job.ssh(f"echo moved > {place_of(first['job_id'])}/file").returncode == 0
    moved = per_job.data("hop")
    assert moved["job_id"] != first["job_id"]
    assert per_job.ssh(f"cat {place_of(moved['job_id'])}/file").stdout == "moved\n"


def test_a_name_that_no_job_sets_costs_no_node_and_is_told(per_job: Laptop) -> None:
    told = per_job.outcome("up", "--set", "scratch=$SLURM_TEMPDIR/x")
    assert (told["exit_code"], told["code"]) == (10, "config.name_unset")
    assert "`$SLURM_TEMPDIR` is not set in job" in told["message"]
    assert "`$SLURM_TMPDIR` (/localscratch/alice." in told["message"]
    assert per_job.data("status")["allocation"] is None


@pytest.mark.slow
def test_the_store_is_named_by_the_login_shell(per_job: Laptop, minicluster: Minicluster) -> None:
    profile = minicluster.shared("/home/alice/.bash_profile")
    profile.write_text("export PROJECT=/fsx/alice\n")
    try:
        named = ["--set", "store=$PROJECT/named"]
        up = per_job.data("up", *named)
        assert per_job.ssh(f"echo x > {place_of(up['job_id'])}/file").returncode == 0
        saved = per_job.data("backup", *named)["snapshot"]
        assert minicluster.shared(f"/fsx/alice/named/work/{saved}.json").exists()
        assert per_job.data("autobackup", "on", *named)["changed"] is False
        per_job.data("clear", *named)
    finally:
        profile.unlink()
    told = per_job.outcome("status", *named)
    assert (told["exit_code"], told["code"]) == (10, "config.name_unset")
    assert "`$PROJECT` is not set on `login`" in told["message"]


def test_setup_proposes_what_the_site_gives_each_job(
    minicluster: Minicluster, job: str, tmp_path: Path
) -> None:
    def proposed(home: Path) -> dict[str, str]:
        home.mkdir()
        done = Laptop(home, minicluster).data(*SETUP, *SHORT, "--yes")
        scratch: dict[str, str] = next(one for one in done["values"] if one["key"] == "scratch")
        return scratch

    in_job = proposed(tmp_path / "one")
    assert in_job["value"] == "$SLURM_TMPDIR"
    assert f"as job {job} sees it" in in_job["reason"]
    minicluster.login("scancel", job)
    retry_until(lambda: minicluster.jobs() == [], "the job has ended")
    by_slurm = proposed(tmp_path / "other")
    assert by_slurm["value"] == "$SLURM_TMPDIR"
    assert "`/etc/slurm/task_prolog`" in by_slurm["reason"]


@pytest.mark.slow
def test_what_only_a_second_node_has_is_saved_before_its_directory_goes(
    per_job: Laptop, minicluster: Minicluster
) -> None:
    up = per_job.data("up", "--set", "slurm.nodes=2")
    place = place_of(up["job_id"])
    for node in up["nodes"]:
        minicluster.exec("-u", "alice", node, "sh", "-c", f"echo {node} > {place}/file")
    minicluster.login("scancel", str(up["job_id"]))
    retry_until(lambda: minicluster.jobs() == [], "the job has ended")

    def messages() -> set[str]:
        return {one["message"] for one in per_job.data("snapshots", "list")["snapshots"]}

    wanted = {"the job ends", f"the job ends, of {up['nodes'][1]}"}
    retry_until(lambda: wanted <= messages(), "both nodes are saved")
    again = per_job.data("up")
    assert per_job.ssh(f"cat {place_of(again['job_id'])}/file").stdout == f"{up['nodes'][0]}\n"
    per_job.data("restore", f'@"the job ends, of {up["nodes"][1]}"')
    assert per_job.ssh(f"cat {place_of(again['job_id'])}/file").stdout == f"{up['nodes'][1]}\n"
