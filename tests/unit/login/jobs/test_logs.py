"""`logs`: read on the node while the task runs, from the store afterwards, each byte once."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from scratchflow.login.jobs import logs as module
from scratchflow.login.jobs.logs import read_logs
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.allocation import AllocationEnded, NodeSilent
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.events import Data, Log, Warned
from scratchflow.model.job import TaskRecord
from scratchflow.model.requests import ReadLogs, Submit
from scratchflow.model.results.jobs import Submitted
from scratchflow.model.times import iso_time
from scratchflow.store.jobs.records import job_directory, write_task
from tests.unit.login.jobs.conftest import Cluster


@pytest.fixture
def job(cluster: Cluster) -> Submitted:
    done = submit(cluster.login, Submit(command=("true",)))
    where = job_directory(cluster.desk.place, done.job)
    where.output(0).write_text("one\ntwo\n")
    where.output(0, error=True).write_text("bad\n")
    return done


def end(cluster: Cluster, job: Submitted, code: int) -> None:
    own = TaskRecord(task=0, job_id=1, node="n", phase="ended", start="", code=code)
    write_task(cluster.desk.place, job.job, own)


def printed(cluster: Cluster, *, error: bool = False) -> bytes:
    found = [event for event in cluster.said if isinstance(event, Data)]
    return b"".join(event.content for event in found if event.is_error is error)


def test_what_an_ended_job_printed_is_in_the_store(cluster: Cluster, job: Submitted) -> None:
    cluster.fake.jobs[job.number or 0].state = "FAILED"
    end(cluster, job, 5)
    done = read_logs(cluster.login, ReadLogs(wanted="last"))
    assert (printed(cluster), printed(cluster, error=True)) == (b"one\ntwo\n", b"bad\n")
    assert (done.state, done.code, done.exit_code()) == ("FAILED", 5, 0)


def test_of_a_command_that_was_not_run_the_reason_is_told(cluster: Cluster, job: Submitted) -> None:
    cluster.fake.jobs[job.number or 0].state = "FAILED"
    own = TaskRecord(task=0, job_id=1, node="n", phase="ended", start="", error="no such snapshot")
    write_task(cluster.desk.place, job.job, own)
    done = read_logs(cluster.login, ReadLogs(wanted="last", follow=True))
    assert done.exit_code() == 1
    (said,) = [event.message for event in cluster.said if isinstance(event, Log)]
    assert said == f"job {job.number}: the command was not run: no such snapshot"


def test_followed_it_ends_with_the_jobs_exit_code(
    cluster: Cluster, job: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node sends the first line; its step is lost when the task ends; the store has the rest."""

    def ask(_: Any, __: Any, emit: Any, *___: Any) -> Any:
        emit(Data(content=b"one\n"))
        end(cluster, job, 5)
        raise NodeSilent(node="n", job_id=1, reason="x")

    monkeypatch.setattr(module, "ask_node", ask)
    monkeypatch.setattr(module, "node_transport", lambda *_: None)
    done = read_logs(cluster.login, ReadLogs(wanted="last", follow=True))
    assert (printed(cluster), printed(cluster, error=True)) == (b"one\ntwo\n", b"bad\n")
    assert (done.state, done.exit_code()) == ("FAILED", 5)


def test_followed_a_job_that_ends_under_it_is_no_trouble_with_its_node(
    cluster: Cluster, job: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = cluster.fake.jobs[job.number or 0]

    def ask(*_: Any) -> Any:
        fake.state = "CANCELLED"
        raise AllocationEnded(job_id=1, reason="it was cancelled, or its time is up")

    monkeypatch.setattr(module, "ask_node", ask)
    monkeypatch.setattr(module, "node_transport", lambda *_: None)
    done = read_logs(cluster.login, ReadLogs(wanted="last", follow=True))
    assert (done.state, printed(cluster)) == ("CANCELLED", b"one\ntwo\n")
    (said,) = [event.message for event in cluster.said if isinstance(event, Log)]
    assert said.startswith(f"job {job.number}: it was cancelled; ")


@pytest.mark.parametrize("who_heard", ["SIGTERM", ""])
def test_followed_a_task_that_is_requeued_is_followed_on(
    cluster: Cluster, job: Submitted, monkeypatch: pytest.MonkeyPatch, who_heard: str
) -> None:
    """It ends by a signal, waits, and runs again to its own end."""
    fake = cluster.fake.jobs[job.number or 0]
    ends = iter([(who_heard, 143), ("", 0)])
    states = iter(["PENDING", "RUNNING"])

    def ask(*_: Any) -> Any:
        ended_by, code = next(ends)
        own = TaskRecord(task=0, job_id=1, node="n", phase="ended", start="", code=code)
        write_task(cluster.desk.place, job.job, msgspec.structs.replace(own, ended_by=ended_by))
        return {"ended": True}

    def change() -> None:
        fake.state = next(states)

    monkeypatch.setattr(module, "ask_node", ask)
    monkeypatch.setattr(module, "node_transport", lambda *_: None)
    cluster.fake.fake_clock.on_sleep = change
    done = read_logs(cluster.login, ReadLogs(wanted="last", follow=True))
    assert (done.state, done.code) == ("COMPLETED", 0)


def test_a_job_that_was_queued_again_is_followed_into_its_next_run(
    cluster: Cluster, job: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = cluster.fake.jobs[job.number or 0]
    asked: list[int] = []

    def ask(_: Any, __: Any, emit: Any, *___: Any) -> Any:
        asked.append(1)
        emit(Data(content=b"one\n" if len(asked) == 1 else b"two\n"))
        if len(asked) == 1:
            fake.state = "PENDING"
            return {"ended": False}
        end(cluster, job, 0)
        return {"ended": True}

    def begin() -> None:
        fake.state = "RUNNING"

    cluster.fake.fake_clock.on_sleep = begin
    monkeypatch.setattr(module, "ask_node", ask)
    monkeypatch.setattr(module, "node_transport", lambda *_: None)
    done = read_logs(cluster.login, ReadLogs(wanted="last", follow=True))
    assert (printed(cluster), len(asked)) == (b"one\ntwo\n", 2)
    assert done.state == "COMPLETED"


def cautions(cluster: Cluster) -> list[str]:
    return [
        event.message
        for event in cluster.said
        if isinstance(event, Warned) and event.code == "job.output_cut"
    ]


def test_that_the_store_was_full_while_it_ran_is_told(cluster: Cluster, job: Submitted) -> None:
    cluster.fake.jobs[job.number or 0].state = "COMPLETED"
    own = TaskRecord(task=0, job_id=1, node="n", phase="ended", start="", code=0)
    write_task(cluster.desk.place, job.job, own)
    read_logs(cluster.login, ReadLogs(wanted="last"))
    assert cautions(cluster) == []
    cut = msgspec.structs.replace(own, full_since=iso_time(time.time() - 600) or "")
    write_task(cluster.desk.place, job.job, cut)
    read_logs(cluster.login, ReadLogs(wanted="last"))
    (said,) = cautions(cluster)
    assert said.startswith(f"job {job.number}: the store was full 10 min ago, while")


def test_that_the_store_is_full_now_is_told_of_a_job_that_could_not_write_its_end(
    cluster: Cluster, job: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.fake.jobs[job.number or 0].state = "FAILED"
    own = TaskRecord(task=0, job_id=1, node="n", phase="running", start="")
    write_task(cluster.desk.place, job.job, own)
    full = NoSpace(path="/fsx/x", reason="No space left on device")
    monkeypatch.setattr(module, "write_failure", lambda _: full)
    read_logs(cluster.login, ReadLogs(wanted="last"))
    (said,) = cautions(cluster)
    assert "no space left at `/fsx/x`" in said
    remarks = [event.message for event in cluster.said if isinstance(event, Log)]
    assert any(
        "could write no word of its end, as when the store is full" in one for one in remarks
    )


@pytest.mark.parametrize(("state", "is_cut"), [("FAILED", True), ("NODE_FAIL", False)])
def test_that_output_may_be_missing_is_told_when_the_store_has_room_again(
    cluster: Cluster, job: Submitted, state: str, is_cut: bool
) -> None:
    cluster.fake.jobs[job.number or 0].state = state
    own = TaskRecord(task=0, job_id=1, node="n", phase="running", start="")
    write_task(cluster.desk.place, job.job, own)
    read_logs(cluster.login, ReadLogs(wanted="last"))
    assert [one.endswith("printed last may be missing") for one in cautions(cluster)] == (
        [True] if is_cut else []
    )


def test_only_errors(cluster: Cluster, job: Submitted) -> None:
    cluster.fake.jobs[job.number or 0].state = "FAILED"
    read_logs(cluster.login, ReadLogs(wanted="last", only_error=True))
    assert (printed(cluster), printed(cluster, error=True)) == (b"", b"bad\n")


def test_a_waiting_job_is_waited_for_and_slurm_is_asked_every_ten_seconds(
    cluster: Cluster, job: Submitted
) -> None:
    fake = cluster.fake.jobs[job.number or 0]
    fake.state, fake.reason = "PENDING", "JobHeldUser"
    started = cluster.fake.fake_clock.seconds

    def cancelled() -> None:
        if cluster.fake.fake_clock.seconds > started + 25:
            fake.state = "CANCELLED"

    cluster.fake.fake_clock.on_sleep = cancelled
    cluster.fake.asked.clear()
    done = read_logs(cluster.login, ReadLogs(wanted="last", follow=True))
    assert (done.state, done.exit_code()) == ("CANCELLED", 1)
    assert sum(argv[0] == "squeue" for argv in cluster.fake.asked) == 4
    said, _ = [event.message for event in cluster.said if isinstance(event, Log)]
    assert "pending (it is held; `scontrol release` would let it start); waiting for it" in said


def test_of_a_waiting_job_it_is_said_why_it_waits_and_how_to_follow_it(
    cluster: Cluster, job: Submitted
) -> None:
    fake, number = cluster.fake.jobs[job.number or 0], job.number
    fake.state, fake.reason = "PENDING", "Resources"
    done = read_logs(cluster.login, ReadLogs(wanted="last"))
    assert (done.state, done.exit_code()) == ("PENDING", 0)
    (said,) = [event.message for event in cluster.said if isinstance(event, Log)]
    assert said == (
        f"job {number} is pending (it is next, and waits for a node to become free);"
        f" `scratchflow logs -f {number}` waits for it and shows what it prints,"
        f" `scratchflow jobs show {number}` says more"
    )


def test_while_slurm_does_not_answer_that_is_said_and_not_that_the_job_waits(
    cluster: Cluster, job: Submitted
) -> None:
    cluster.fake.up = False
    read_logs(cluster.login, ReadLogs(wanted="last"))
    *_, said = [event.message for event in cluster.said if isinstance(event, Log)]
    assert said.startswith(f"job {job.number}: Slurm does not answer, so its state is not known; ")


@pytest.mark.usefixtures("job")
def test_a_task_that_is_not_there_is_told(cluster: Cluster) -> None:
    with pytest.raises(JobNotReady, match="no task 3"):
        read_logs(cluster.login, ReadLogs(wanted="last", task=3))
    with pytest.raises(JobNotReady, match="has failed"):
        read_logs(cluster.login, ReadLogs(wanted="last", failed=True))


@pytest.mark.parametrize(
    ("asked", "is_said"),
    [({}, True), ({"task": 1}, False), ({"wanted": "last_1"}, False)],
)
def test_of_several_tasks_it_is_said_which_one_is_shown(
    cluster: Cluster, asked: dict[str, Any], is_said: bool
) -> None:
    job = submit(cluster.login, Submit(command=("true",), tasks=({"a": 1}, {"a": 2})))
    read_logs(cluster.login, ReadLogs(**{"wanted": "last", **asked}))
    said = [event.message for event in cluster.said if isinstance(event, Log)]
    way = f"; `scratchflow logs {job.number}_1` shows another"
    found = [line for line in said if line.startswith("this is task 0, one of 2 (") and way in line]
    assert bool(found) is is_said
    task = 0 if is_said else 1
    assert said[0] == f"task {task} of job {job.number}: a={task + 1}"


def test_nobody_is_sent_to_a_failed_task_when_none_has_failed(cluster: Cluster) -> None:
    job = submit(cluster.login, Submit(command=("true",), tasks=({"a": 1}, {"a": 2})))
    cluster.fake.jobs[job.number or 0].state = "COMPLETED"
    for task in (0, 1):
        own = TaskRecord(task=task, job_id=1, node="n", phase="ended", start="", code=0)
        write_task(cluster.desk.place, job.job, own)
    read_logs(cluster.login, ReadLogs(wanted="last"))
    said = [event.message for event in cluster.said if isinstance(event, Log)]
    assert f"`scratchflow logs {job.number}_1` shows another" in said[-1]
    assert "--failed" not in said[-1]


def test_whoever_sees_the_first_failed_task_is_not_sent_there_again(cluster: Cluster) -> None:
    job = submit(cluster.login, Submit(command=("true",), tasks=({"a": 1}, {"a": 2})))
    cluster.fake.jobs[job.number or 0].state = "FAILED"
    end(cluster, job, 5)
    for failed in (False, True):
        cluster.said.clear()
        read_logs(cluster.login, ReadLogs(wanted="last", failed=failed))
        said = [event.message for event in cluster.said if isinstance(event, Log)][-1]
        assert f"`scratchflow logs {job.number}_1` shows another" in said
        assert ("logs --failed" in said) is not failed


def test_of_a_job_that_failed_before_it_ran_it_is_told_that_the_command_was_not_run(
    cluster: Cluster,
) -> None:
    job = submit(cluster.login, Submit(command=("true",)))
    fake = cluster.fake.jobs[job.number or 0]
    fake.state, fake.reason, fake.start = "FAILED", "BadConstraints", 1
    done = read_logs(cluster.login, ReadLogs(wanted="last"))
    (said,) = [event.message for event in cluster.said if isinstance(event, Log)]
    assert said.startswith(f"job {job.number}: the command was not run: Slurm could not start")
    assert (done.state, done.code) == ("FAILED", None)


def test_a_record_that_cannot_be_read_is_not_taken_for_a_command_that_was_not_run(
    cluster: Cluster, job: Submitted
) -> None:
    cluster.fake.jobs[job.number or 0].state = "FAILED"
    job_directory(cluster.desk.place, job.job).task(0).write_text("{")
    read_logs(cluster.login, ReadLogs(wanted="last"))
    said = [event.message for event in cluster.said if isinstance(event, Log)]
    assert not any("was not run" in line for line in said)


@pytest.mark.parametrize("goes_with_job", [False, True])
def test_what_is_not_saved_is_told_after_what_it_printed(
    cluster: Cluster, job: Submitted, goes_with_job: bool
) -> None:
    cluster.fake.jobs[job.number or 0].state = "COMPLETED"
    own = TaskRecord(task=0, job_id=1, node="n", phase="ended", start="", code=0)
    own = msgspec.structs.replace(own, not_collected=["outputs/x: full"])
    write_task(
        cluster.desk.place, job.job, msgspec.structs.replace(own, goes_with_job=goes_with_job)
    )
    read_logs(cluster.login, ReadLogs(wanted="last"))
    (said,) = [event.message for event in cluster.said if isinstance(event, Log)]
    assert "not saved: outputs/x: full; " in said
    assert ("is lost" in said, "the next job there" in said) == (goes_with_job, not goes_with_job)


def test_of_a_job_that_waits_again_the_node_is_named_that_has_what_it_made(
    cluster: Cluster, job: Submitted
) -> None:
    cluster.fake.jobs[job.number or 0].state = "PENDING"
    own = TaskRecord(task=0, job_id=1, node="n1", phase="running", start="")
    write_task(cluster.desk.place, job.job, own)
    read_logs(cluster.login, ReadLogs(wanted="last"))
    said, _ = [event.message for event in cluster.said if isinstance(event, Log)]
    assert "what it made last may still be on `n1`; the next job there saves it" in said


def test_what_it_removed_of_others_that_was_given_up_is_told(
    cluster: Cluster, job: Submitted
) -> None:
    cluster.fake.jobs[job.number or 0].state = "COMPLETED"
    own = TaskRecord(task=0, job_id=1, node="n", phase="ended", start="", code=0)
    write_task(cluster.desk.place, job.job, msgspec.structs.replace(own, removed=["what job 4"]))
    read_logs(cluster.login, ReadLogs(wanted="last"))
    said = [event.message for event in cluster.said if isinstance(event, Log)]
    assert said == [f"job {job.number} removed what job 4"]


def test_that_what_is_behind_a_link_was_not_saved_is_told(cluster: Cluster, job: Submitted) -> None:
    cluster.fake.jobs[job.number or 0].state = "COMPLETED"
    own = TaskRecord(task=0, job_id=1, node="n", phase="ended", start="", code=0)
    links = ["outputs: a link", "outputs/b: a link"]
    write_task(cluster.desk.place, job.job, msgspec.structs.replace(own, links_out=links))
    read_logs(cluster.login, ReadLogs(wanted="last"))
    said = [event.message for event in cluster.said if isinstance(event, Log)]
    assert said == [f"job {job.number}: left out: outputs: a link, and 1 more such links"]
