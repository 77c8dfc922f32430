"""Never a job without a record, never two for one submit, and no secret in what is written."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.cluster.slurm.batch.sbatch import submit_batch
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.list import list_jobs
from scratchflow.login.jobs.rerun import rerun_job
from scratchflow.login.jobs.submit import _slurm as sbatch_slurm
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.jobs import JobInDoubt, JobRefused, JobsPartlySubmitted
from scratchflow.model.errors.snapshots import SnapshotMissing
from scratchflow.model.events import Warned
from scratchflow.model.requests import ListJobs, RerunJob, Submit
from scratchflow.store.jobs.records import job_directory, job_ids, read_job, read_jobs, write_job
from tests.unit.login.jobs.conftest import Cluster

CMD = Submit(command=("python", "train.py"))


def asked_of_slurm(cluster: Cluster) -> list[list[str]]:
    return [argv for argv in cluster.fake.asked if argv[0] == "sbatch"]


def test_the_record_says_what_was_submitted(cluster: Cluster) -> None:
    done = submit(cluster.login, msgspec.structs.replace(CMD, tags=("a",), collect=("*.pt",)))
    record = read_job(cluster.desk.place, done.job)
    assert record is not None
    assert (record.number, record.snapshot) == (done.number, cluster.snapshot)
    assert (record.command, record.name) == (["python", "train.py"], "train.py")
    assert (record.tags, record.collect) == (["a"], ["*.pt"])
    assert record.slurm["time"] == "5:00"
    assert len(asked_of_slurm(cluster)) == 1


def test_the_record_is_there_before_slurm_is_asked(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def look(*_: object) -> int:
        seen.extend(read_jobs(cluster.desk.place))
        assert job_directory(cluster.desk.place, seen[0].id).script.exists()
        return 7

    monkeypatch.setattr("scratchflow.login.jobs.submit.submit_batch", look)
    done = submit(cluster.login, CMD)
    assert [(record.id, record.number) for record in seen] == [(done.job, None)]


def test_a_lost_answer_keeps_the_record_and_a_refusal_removes_it(cluster: Cluster) -> None:
    cluster.fake.sbatch = "loses the order"
    with pytest.raises(JobInDoubt):
        submit(cluster.login, CMD)
    (record,) = read_jobs(cluster.desk.place)
    assert record.number is None
    cluster.fake.sbatch = "answers"
    options = msgspec.structs.replace(cluster.profile.slurm, partition="nowhere")
    profile = msgspec.structs.replace(cluster.profile, slurm=options)
    cluster.settings = msgspec.structs.replace(cluster.settings, profile=profile)
    with pytest.raises(JobRefused):
        submit(cluster.login, CMD)
    assert job_ids(cluster.desk.place) == [record.id]


def test_no_value_of_the_environment_is_in_the_record_or_the_script(cluster: Cluster) -> None:
    options = msgspec.structs.replace(
        cluster.profile.environment, variables={"WANDB_API_KEY": "s3cret"}
    )
    profile = msgspec.structs.replace(cluster.profile, environment=options)
    cluster.settings = msgspec.structs.replace(cluster.settings, profile=profile)
    done = submit(cluster.login, CMD)
    where = job_directory(cluster.desk.place, done.job)
    for file in (where.record, where.script):
        assert b"s3cret" not in file.read_bytes()
    assert "s3cret" not in " ".join(asked_of_slurm(cluster)[0])
    assert where.request.stat().st_mode & 0o777 == 0o600


def test_a_snapshot_that_is_gone_is_not_submitted(cluster: Cluster) -> None:
    gone = msgspec.structs.replace(CMD, snapshot="20200101T000000Z-000000")
    with pytest.raises(SnapshotMissing):
        submit(cluster.login, gone)
    assert asked_of_slurm(cluster) == []


def test_a_dry_run_writes_nothing_and_only_asks_whether_slurm_would_take_it(
    cluster: Cluster,
) -> None:
    done = submit(cluster.login, msgspec.structs.replace(CMD, dry_run=True))
    assert (done.command[0], done.number) == ("sbatch", None)
    assert "--test-only" not in done.command
    (asked,) = asked_of_slurm(cluster)
    assert asked[1] == "--test-only"
    assert (job_ids(cluster.desk.place), cluster.fake.jobs, warnings(cluster)) == ([], {}, [])


@pytest.mark.parametrize("again", [False, True], ids=["submit", "rerun"])
def test_a_dry_run_is_refused_as_the_job_would_be(cluster: Cluster, *, again: bool) -> None:
    job = submit(cluster.login, CMD).job
    options = msgspec.structs.replace(cluster.profile.slurm, partition="nowhere")
    profile = msgspec.structs.replace(cluster.profile, slurm=options)
    cluster.settings = msgspec.structs.replace(cluster.settings, profile=profile)

    if again:  # with the resources of its record
        record = read_job(cluster.desk.place, job)
        assert record is not None
        nowhere = {**record.slurm, "partition": "nowhere"}
        write_job(cluster.desk.place, msgspec.structs.replace(record, slurm=nowhere))

    def refusal(*, dry_run: bool) -> str:
        once = msgspec.structs.replace(CMD, dry_run=dry_run)
        rerun = RerunJob(wanted=job, dry_run=dry_run)
        with pytest.raises(JobRefused) as refused:
            rerun_job(cluster.login, rerun) if again else submit(cluster.login, once)
        return str(refused.value)

    assert refusal(dry_run=True) == refusal(dry_run=False)
    assert "Invalid partition name specified" in refusal(dry_run=True)
    assert job_ids(cluster.desk.place) == [job]


def test_a_dry_run_with_several_arrays_that_are_refused_leaves_no_record(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scratchflow.login.jobs.new_record.max_array_size", lambda _: 2)
    asked, taken = Submit(command=("x",), tasks=({}, {}, {}, {}), dry_run=True), []

    def second_is_refused(*_: object) -> str:
        taken.append(1)
        if len(taken) == 2:
            raise JobRefused(reason="no")
        return ""

    monkeypatch.setattr("scratchflow.login.jobs.submit.try_batch", second_is_refused)
    with pytest.raises(JobRefused):
        submit(cluster.login, asked)
    assert job_ids(cluster.desk.place) == []


def test_a_dry_run_warns_of_what_slurm_may_only_say_now(cluster: Cluster) -> None:
    for node in cluster.fake.nodes.values():
        node.state = "DOWN"
    submit(cluster.login, msgspec.structs.replace(CMD, dry_run=True))
    (warning,) = warnings(cluster)
    assert "Requested node configuration is not available" in warning


def warnings(cluster: Cluster) -> list[str]:
    return [event.message for event in cluster.said if isinstance(event, Warned)]


def test_tasks_are_one_array_and_more_than_the_cluster_allows_are_several(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = tuple({"k": number} for number in range(5))
    asked = msgspec.structs.replace(CMD, tasks=tasks, max_parallel=2)
    done = submit(cluster.login, asked)
    assert (done.tasks, done.more, len(asked_of_slurm(cluster))) == (5, [], 1)
    assert "--array=0-4%2" in done.command
    monkeypatch.setattr("scratchflow.login.jobs.new_record.max_array_size", lambda _: 3)
    done = submit(cluster.login, asked)
    assert (done.tasks, len(done.more), len(asked_of_slurm(cluster))) == (5, 1, 3)
    assert sorted(len(record.tasks) for record in read_jobs(cluster.desk.place)) == [2, 3, 5]


@pytest.mark.parametrize("how", ["refused", "in doubt"])
def test_when_a_later_array_fails_the_rest_can_be_rerun(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    tasks = tuple({"k": number} for number in range(6))
    monkeypatch.setattr("scratchflow.login.jobs.new_record.max_array_size", lambda _: 2)
    real, calls = submit_batch, []

    def second_fails(*given: Any) -> int:
        calls.append(1)
        if len(calls) != 2:
            return real(*given)
        if how == "refused":
            raise JobRefused(reason="too many jobs")
        raise JobInDoubt(job="j", reason="no answer")

    monkeypatch.setattr("scratchflow.login.jobs.submit.submit_batch", second_fails)
    with pytest.raises(JobsPartlySubmitted, match="2 of 6 tasks") as caught:
        submit(cluster.login, msgspec.structs.replace(CMD, tasks=tasks))
    assert caught.value.exit_code == (22 if how == "refused" else 20)
    assert len(calls) == 2
    records = read_jobs(cluster.desk.place)
    assert sorted(task["k"] for record in records for task in record.tasks) == list(range(6))
    states = {one.job: one.state for one in list_jobs(cluster.login, ListJobs()).jobs}
    lost = [job for job, state in states.items() if state == "NOT_SUBMITTED"]
    assert len(lost) == (2 if how == "refused" else 1)
    for job in lost:
        assert job in caught.value.shown_hint
        rerun_job(cluster.login, RerunJob(wanted=job))
    asked = [job.name for job in cluster.fake.jobs.values()]
    assert len(asked) == (3 if how == "refused" else 2)


def test_sbatch_gets_no_variable_that_would_make_it_wait_for_the_job(cluster: Cluster) -> None:
    given = {"PATH": "/usr/bin:/bin", "SBATCH_WAIT": "1", "SBATCH_ACCOUNT": "lab"}
    login = LoginHost(cluster.settings, given, cluster.said.append)
    said = sbatch_slurm(login).run(["env"], 10).text
    assert ("SBATCH_ACCOUNT=lab" in said, "SBATCH_WAIT" in said) == (True, False)
