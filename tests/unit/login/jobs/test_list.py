"""`jobs`: open ones and the newest of the others; each with what is known of it."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cli.job_words import details, listed
from scratchflow.login.jobs import list as module
from scratchflow.login.jobs.list import condition_of, list_jobs, show_job, states_of, waits_for
from scratchflow.login.jobs.outputs import show_outputs
from scratchflow.login.jobs.rerun import rerun_job
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.store import StoreLost
from scratchflow.model.events import Warned
from scratchflow.model.job import GONE, TaskRecord
from scratchflow.model.requests import JobOutputs, ListJobs, OneJob, RerunJob, Submit
from scratchflow.model.results.jobs import JobsListed, TaskShown
from scratchflow.store.jobs.over import read_over
from scratchflow.store.jobs.records import job_directory, read_job, write_job, write_task
from scratchflow.store.jobs.saved_rest import SavedRest, note_saved_rest
from tests.unit.login.jobs.conftest import Cluster


def jobs(cluster: Cluster, **asked: object) -> list[str]:
    found = list_jobs(cluster.login, ListJobs(**asked))  # type: ignore[arg-type]
    return [job.name for job in found.jobs]


def run(cluster: Cluster, name: str, state: str = "RUNNING", *tags: str) -> str:
    done = submit(cluster.login, Submit(command=("true",), name=name, tags=tags))
    cluster.fake.jobs[done.number or 0].state = state
    return done.job


def test_an_older_job_of_the_same_number_is_named_beside_the_newest(cluster: Cluster) -> None:
    """A new slurmctld begins to count again."""
    older, newer = (submit(cluster.login, Submit(command=("true",))) for _ in range(2))
    record = read_job(cluster.desk.place, older.job)
    assert record is not None
    write_job(cluster.desk.place, msgspec.structs.replace(record, number=newer.number))
    shown = show_job(cluster.login, OneJob(wanted=str(newer.number))).job
    first, second = sorted([older.job, newer.job])
    assert (shown.job, shown.same_number) == (second, [first])
    lines = "\n".join(details(shown, None))
    assert f"`{first}` had the number {newer.number} before; " in lines
    assert f"`scratchflow jobs show {first}` shows it" in lines
    shown = show_job(cluster.login, OneJob(wanted=first)).job
    assert f"commands take `{first}` for this one" in "\n".join(details(shown, None))


def test_an_old_end_of_which_not_all_is_saved_stays_listed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SHOWN_ENDED", 1)
    first = submit(cluster.login, Submit(command=("true",)))
    cluster.fake.jobs.clear()
    own = TaskRecord(task=0, job_id=1, node="n1", phase="ended", start="", code=1)
    write_task(
        cluster.desk.place, first.job, msgspec.structs.replace(own, not_collected=["outputs/x: no"])
    )
    for name in "abc":
        run(cluster, name, "COMPLETED")
    for _ in range(2):  # the second look relies on what the first has noted as over
        found = list_jobs(cluster.login, ListJobs())
        assert first.job in [job.job for job in found.jobs]
        assert (len(found.jobs), found.left_out) == (2, 2)


def test_old_ends_are_left_out_and_counted(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SHOWN_ENDED", 1)
    for name, state in [("a", "RUNNING"), ("b", "COMPLETED"), ("c", "FAILED")]:
        run(cluster, name, state)
    found = list_jobs(cluster.login, ListJobs())
    assert {job.name for job in found.jobs} >= {"a"}
    assert (len(found.jobs), found.left_out) == (2, 1)
    assert sorted(jobs(cluster, every=True)) == ["a", "b", "c"]


def test_what_another_job_saved_of_an_earlier_run_counts_before_the_task_has_noted_it(
    cluster: Cluster,
) -> None:
    job, place = run(cluster, "a"), cluster.desk.place
    runs = TaskRecord(
        task=0, job_id=1, node="n2", phase="running", start="", restarts=1, left_on=["n1", "n3"]
    )
    write_task(place, job, runs)
    saved = job_directory(place, job).outputs(0, "n1")
    saved.mkdir()
    (saved / "x").write_text("four")
    note_saved_rest(place, job, 0, SavedRest("n1", ["outputs/l: a link"]))
    (task,) = show_job(cluster.login, OneJob(wanted=job)).job.tasks
    assert (task.collected_files, task.collected_bytes, task.earlier_files) == (1, 4, 1)
    assert task.links_out == ["outputs/l: a link"]
    ended = msgspec.structs.replace(runs, phase="ended", code=0, collected_files=0)
    write_task(place, job, ended)
    (record,) = cluster.fake.jobs.values()
    record.state = "COMPLETED"
    (task,) = show_job(cluster.login, OneJob(wanted=job)).job.tasks
    assert (task.collected_files, task.unsaved_on) == (1, ["n3"])


def test_what_could_not_be_saved_of_an_earlier_run_is_named_while_the_next_one_runs(
    cluster: Cluster,
) -> None:
    job, place = run(cluster, "a"), cluster.desk.place
    own = TaskRecord(task=0, job_id=1, node="n2", phase="running", start="", restarts=1)
    write_task(place, job, msgspec.structs.replace(own, left_on=["n1"]))
    note_saved_rest(place, job, 0, SavedRest("n1", [], ["outputs/x: Permission denied"]))
    (task,) = show_job(cluster.login, OneJob(wanted=job)).job.tasks
    assert (task.unsaved_on, task.not_collected) == (["n1"], ["n1: outputs/x: Permission denied"])
    assert "--nodelist=n1 -- " in task.rest
    assert "n2" not in task.rest


def test_what_is_over_for_good_and_not_shown_is_not_read_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SHOWN_ENDED", 1)
    ids = sorted(run(cluster, name, "COMPLETED") for name in "abc")
    place = cluster.desk.place
    for job in ids:
        show_job(cluster.login, OneJob(wanted=job))
    jobs(cluster)
    assert read_over(place) == set(), "Slurm may still requeue them"
    cluster.fake.jobs.clear()
    jobs(cluster)
    assert read_over(place) == set(ids)
    open_one = run(cluster, "d", "RUNNING")
    found = list_jobs(cluster.login, ListJobs())
    assert {job.job for job in found.jobs} == {ids[2], open_one}
    assert found.left_out == 2
    assert len(jobs(cluster, every=True)) == 4


def test_a_damaged_record_is_named_and_the_others_are_shown(cluster: Cluster) -> None:
    damaged = run(cluster, "a")
    run(cluster, "b")
    where = job_directory(cluster.desk.place, damaged)
    where.record.write_text('{"id": ')
    found = list_jobs(cluster.login, ListJobs())
    assert ([job.name for job in found.jobs], found.damaged) == (["b"], [damaged])
    (said,) = [event for event in cluster.said if isinstance(event, Warned)]
    assert (said.code, str(where.record) in said.message) == ("job.damaged", True)
    assert "moving that directory out of the store" in said.message
    where.record.unlink()  # as after a kill before the record was written
    assert list_jobs(cluster.login, ListJobs()).damaged == []


def test_a_damaged_record_of_a_task_is_named_and_the_others_are_shown(cluster: Cluster) -> None:
    asked = Submit(command=("true",), tasks=({"k": 1}, {"k": 2}, {"k": 3}))
    done = submit(cluster.login, asked)
    cluster.fake.jobs.clear()
    place, where = cluster.desk.place, job_directory(cluster.desk.place, done.job)
    for number in range(3):
        write_task(
            place,
            done.job,
            TaskRecord(task=number, job_id=1, node="n1", phase="ended", start="", end="", code=0),
        )
    where.task(1).write_text('{"task": ')
    (where.path / "tasks/.tmp-0a-2.json").write_text("{")  # of a task that was killed: no record
    (shown,) = list_jobs(cluster.login, ListJobs()).jobs
    assert [(task.state, task.damaged) for task in shown.tasks] == [
        ("COMPLETED", False),
        ("FORGOTTEN", True),
        ("COMPLETED", False),
    ]
    (said,) = [event for event in cluster.said if isinstance(event, Warned)]
    assert said.code == "job.damaged"
    assert str(where.task(1)) in said.message
    assert f"`scratchflow jobs rerun {done.number}_1`" in said.message


def test_without_its_store_nobody_is_told_that_there_are_no_jobs(cluster: Cluster) -> None:
    assert jobs(cluster) == []
    run(cluster, "a")
    cluster.desk.place.directory.rename(cluster.desk.place.directory.with_name("away"))
    with pytest.raises(StoreLost):
        jobs(cluster)
    with pytest.raises(StoreLost):
        show_job(cluster.login, OneJob(wanted="last"))


def test_they_are_chosen_by_state_tag_and_time(cluster: Cluster) -> None:
    run(cluster, "a", "RUNNING", "x")
    run(cluster, "b", "FAILED", "y")
    assert jobs(cluster, state="failed") == ["b"]
    assert jobs(cluster, tag="x") == ["a"]
    assert jobs(cluster, since_s=4e9) == []


def test_one_is_shown_with_its_outcome(cluster: Cluster) -> None:
    job = run(cluster, "a", "FAILED")
    own = TaskRecord(
        task=0,
        job_id=1,
        node="node-1",
        phase="ended",
        start="2026-11-15T09:30:00Z",
        end="2026-11-15T09:31:00Z",
        code=3,
        collected_files=2,
        left_out=["outputs/pipe: a pipe"],
    )
    write_task(cluster.desk.place, job, own)
    job_directory(cluster.desk.place, job).output(0).write_text("printed")
    found = show_job(cluster.login, OneJob(wanted="last"))
    (task,) = found.job.tasks
    assert (found.job.state, task.state, task.code) == ("FAILED", "FAILED", 3)
    assert (task.collected_files, task.node) == (2, "node-1")
    assert task.left_out == ["outputs/pipe: a pipe"]
    assert task.last_output is not None
    assert "exit code 3" in task.why


def test_a_task_that_was_requeued_waits_without_the_node_and_time_of_its_earlier_run(
    cluster: Cluster,
) -> None:
    job = run(cluster, "a", "PENDING")
    own = TaskRecord(
        task=0,
        job_id=1,
        node="node-1",
        phase="ended",
        start="2026-11-15T09:30:00Z",
        end="2026-11-15T09:31:00Z",
        restarts=1,
        ended_by="SIGTERM",
        collected_files=2,
    )
    write_task(cluster.desk.place, job, own)
    (task,) = show_job(cluster.login, OneJob(wanted="last")).job.tasks
    assert (task.state, task.node, task.start, task.end) == ("PENDING", "", None, None)
    assert (task.restarts, task.collected_files) == (1, 2)


@pytest.mark.parametrize(("reason", "why"), [("Priority", "other jobs come first"), ("None", "")])
def test_why_a_job_waits_is_told_in_plain_words(cluster: Cluster, reason: str, why: str) -> None:
    run(cluster, "a", "PENDING")
    (fake,) = cluster.fake.jobs.values()
    fake.reason = reason
    (task,) = show_job(cluster.login, OneJob(wanted="last")).job.tasks
    assert task.why == why


def test_one_that_waits_for_its_next_run_does_not_run_meanwhile(cluster: Cluster) -> None:
    job = run(cluster, "a", "PENDING")
    start = "2026-11-15T09:30:00Z"
    own = TaskRecord(task=0, job_id=1, node="n", phase="requeued", start=start, continued=1)
    write_task(cluster.desk.place, job, own)
    (task,) = show_job(cluster.login, OneJob(wanted="last")).job.tasks
    assert (task.state, task.start, task.continued) == ("PENDING", None, 1)


def test_of_several_tasks_one_that_runs_tells_the_state(cluster: Cluster) -> None:
    tasks = ({"k": 1}, {"k": 2})
    submit(cluster.login, Submit(command=("true",), tasks=tasks))
    found = show_job(cluster.login, OneJob(wanted="last"))
    assert found.job.state == "RUNNING"
    assert [task.parameters for task in found.job.tasks] == [{"k": 1}, {"k": 2}]


def test_a_begin_time_of_a_job_that_has_run_means_that_it_was_put_back() -> None:
    assert waits_for("BeginTime") == "its begin time has not come"
    own = TaskRecord(task=0, job_id=1, node="n", phase="running", start="")
    assert "into the queue, as when its node fails, and" in waits_for("BeginTime", own)
    own = msgspec.structs.replace(own, phase="requeued")
    assert "into the queue, to go on in another run, and" in waits_for("BeginTime", own)
    assert waits_for("JobArrayTaskLimit") == "as many tasks of the array run as may"


def test_a_profile_without_a_cluster_has_no_jobs_and_takes_none(cluster: Cluster) -> None:
    profile = msgspec.structs.replace(cluster.profile, scheduler="none")
    cluster.settings = msgspec.structs.replace(cluster.settings, profile=profile)
    found = list_jobs(cluster.login, ListJobs())
    assert (found.jobs, found.no_cluster) == ([], True)


@pytest.mark.parametrize(("state", "nodes"), [("NODE_FAIL", ["n1"]), ("RUNNING", [])])
def test_the_node_that_may_have_unsaved_files_of_an_ended_task_is_shown(
    cluster: Cluster, state: str, nodes: list[str]
) -> None:
    job = submit(cluster.login, Submit(command=("true",)))
    fake = cluster.fake.jobs[job.number or 0]
    fake.state, fake.start = state, 1
    own = TaskRecord(task=0, job_id=job.number, node="n1", phase="running", start="")
    write_task(cluster.desk.place, job.job, own)
    (task,) = show_job(cluster.login, OneJob(wanted="last")).job.tasks
    assert (task.unsaved_on, task.lost) == (nodes, False)
    assert ("--nodelist=n1 -- true`" in task.rest) is bool(nodes)
    lost = msgspec.structs.replace(own, goes_with_job=True)
    write_task(cluster.desk.place, job.job, lost)
    (task,) = show_job(cluster.login, OneJob(wanted="last")).job.tasks
    assert (task.unsaved_on, task.lost) == ([], bool(nodes))


def test_tasks_that_ended_differently_are_counted() -> None:
    tasks = [TaskShown(task=n, job_id=1, state=state) for n, state in enumerate("AAB")]
    assert states_of(tasks) == "2 A, 1 B"
    assert states_of(tasks[2:]) == "B"


@pytest.mark.parametrize(
    ("state", "condition"),
    [
        ("PENDING", "waiting"),
        ("SUBMITTING", "waiting"),
        ("SUSPENDED", "waiting"),
        ("RUNNING", "running"),
        ("COMPLETING", "running"),
        ("COMPLETED", "succeeded"),
        ("CANCELLED", "cancelled"),
        ("FAILED", "failed"),
        ("TIMEOUT", "failed"),
        ("OUT_OF_MEMORY", "failed"),
        ("NODE_FAIL", "failed"),
        ("NOT_SUBMITTED", "failed"),
        ("FORGOTTEN", "unknown"),
        ("UNKNOWN", "unknown"),
        ("A_WORD_OF_A_LATER_SLURM", "unknown"),
    ],
)
def test_each_state_comes_to_one_of_few_conditions(state: str, condition: str) -> None:
    assert condition_of(state) == condition


def test_who_shows_jobs_gets_names_conditions_and_counts_and_need_not_judge(
    cluster: Cluster,
) -> None:
    run(cluster, "one", "RUNNING")
    tasks = ({"k": 1}, {"k": 2}, {"k": 3})
    done = submit(cluster.login, Submit(command=("true",), name="many", tasks=tasks))
    ends = {0: 0, 1: 3}
    for number, code in ends.items():
        start = end = "2026-11-15T09:30:00Z"
        own = TaskRecord(
            task=number, job_id=1, node="n1", phase="ended", start=start, end=end, code=code
        )
        write_task(cluster.desk.place, done.job, own)
    cluster.fake.jobs.clear()
    found = {job.name: job for job in list_jobs(cluster.login, ListJobs()).jobs}
    many = found["many"]
    assert [task.handle for task in many.tasks] == [f"{done.number}_{n}" for n in range(3)]
    assert [task.condition for task in many.tasks] == ["succeeded", "failed", "unknown"]
    assert (many.handle, many.is_array, many.is_open) == (str(done.number), True, False)
    assert many.states == "1 COMPLETED, 1 FAILED, 1 FORGOTTEN"
    again = rerun_job(cluster.login, RerunJob(wanted=many.handle, failed=True, dry_run=True))
    assert many.failed_tasks == again.tasks == 2


def test_one_that_has_not_ended_is_open(cluster: Cluster) -> None:
    run(cluster, "a", "PENDING")
    (job,) = list_jobs(cluster.login, ListJobs()).jobs
    assert (job.condition, job.is_open, job.is_array) == ("waiting", True, False)
    assert job.handle == job.tasks[0].handle
    assert (job.states, job.failed_tasks, job.tasks[0].is_open) == ("PENDING", 0, True)


def test_what_a_job_that_waits_again_has_left_is_saved_by_its_next_run_and_nobody_else(
    cluster: Cluster,
) -> None:
    job = run(cluster, "a", "PENDING")
    own = TaskRecord(task=0, job_id=1, node="n1", phase="running", start="")
    write_task(cluster.desk.place, job, own)
    (task,) = show_job(cluster.login, OneJob(wanted=job)).job.tasks
    assert "on `n1`; its next run saves it if that starts there" in task.rest
    (told,) = show_outputs(cluster.login, JobOutputs(wanted=job)).rest
    assert told.endswith(task.rest)


def test_a_run_that_slurm_could_not_launch_has_no_time_of_the_one_before(cluster: Cluster) -> None:
    job = run(cluster, "a", "FAILED")
    own = TaskRecord(
        task=0, job_id=1, node="n1", phase="running", start="2026-11-15T09:30:00Z", restarts=0
    )
    write_task(cluster.desk.place, job, own)
    (slurms,) = cluster.fake.jobs.values()
    slurms.reason = "JobLaunchFailure"
    (task,) = show_job(cluster.login, OneJob(wanted=job)).job.tasks
    assert "that run was not begun" in task.why
    assert task.start != own.start
    assert task.restarts == 1


def test_a_job_that_was_cancelled_while_it_waited_for_another_run_did_not_run_meanwhile(
    cluster: Cluster,
) -> None:
    job = run(cluster, "a", "CANCELLED")
    own = TaskRecord(task=0, job_id=1, node="n1", phase="running", start="2026-11-15T09:30:00Z")
    write_task(cluster.desk.place, job, own)
    (slurms,) = cluster.fake.jobs.values()
    slurms.nodes = ""
    (task,) = show_job(cluster.login, OneJob(wanted=job)).job.tasks
    assert "while it waited for another run: after the one on `n1` it was queued again" in task.why
    assert (task.start, task.node) == (None, "")
    slurms.nodes = "n1"  # as of one that was cancelled while it ran
    cluster.desk.place.directory.joinpath("jobs", job, "slurm.json").unlink()
    (task,) = show_job(cluster.login, OneJob(wanted=job)).job.tasks
    assert "waited" not in task.why
    assert (task.start, task.node) == (own.start, "n1")


def test_that_a_command_has_removed_its_directory_is_told_wherever_its_work_is(
    cluster: Cluster,
) -> None:
    job = run(cluster, "a", "COMPLETED")
    own = TaskRecord(
        task=0, job_id=1, node="n1", phase="ended", start="", code=0, left_out=["p: a pipe", GONE]
    )
    write_task(cluster.desk.place, job, own)
    shown = show_job(cluster.login, OneJob(wanted=job)).job
    (task,) = shown.tasks
    assert (task.lost, task.left_out) == (True, ["p: a pipe"])
    assert task.rest.startswith(f"{GONE}; if it was moved, it is still on `n1`")
    (told,) = show_outputs(cluster.login, JobOutputs(wanted=job)).rest
    assert told.endswith(task.rest)
    assert any("not all that job" in line for line in listed(JobsListed(jobs=[shown])))
    earlier = msgspec.structs.replace(own, left_on=["n2"])
    write_task(cluster.desk.place, job, earlier)
    (task,) = show_job(cluster.login, OneJob(wanted=job)).job.tasks
    assert GONE in task.left_out
    assert "on `n2`; the next job there saves it" in task.rest


def test_a_job_on_several_nodes_has_a_task_for_each_as_slurm_got_it(cluster: Cluster) -> None:
    done = submit(cluster.login, Submit(command=("true",), sbatch=("--nodes=2",)))
    assert "--ntasks=2" in done.command
    assert show_job(cluster.login, OneJob(wanted=done.job)).job.slurm["ntasks"] == 2
