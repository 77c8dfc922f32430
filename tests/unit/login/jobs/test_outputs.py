"""`jobs outputs`, on the login host: a list, and the files themselves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.cli.job_words import outputs_in_words
from scratchflow.login.jobs.look import store_of
from scratchflow.login.jobs.outputs import show_outputs
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.events import Data
from scratchflow.model.job import TaskRecord
from scratchflow.model.requests import JobOutputs, Submit
from scratchflow.model.results.jobs import Submitted
from scratchflow.node.job.outputs import unpack
from scratchflow.store.jobs.records import job_directory, write_task
from tests.unit.login.jobs.conftest import Cluster


def made(cluster: Cluster, tasks: int = 1) -> Submitted:
    """A job of which each task made `outputs/r` with its number."""
    sets = tuple({"n": number} for number in range(tasks)) if tasks > 1 else ()
    job = submit(cluster.login, Submit(command=("true",), tasks=sets))
    for number in range(tasks):
        file = job_directory(store_of(cluster.login), job.job).outputs(number) / "outputs" / "r"
        file.parent.mkdir(parents=True)
        file.write_text(str(number) * 3)
    return job


def test_files_are_listed_with_their_sizes_and_where_they_lie(cluster: Cluster) -> None:
    job = made(cluster)
    found = show_outputs(cluster.login, JobOutputs(wanted="last"))
    assert [(one.path, one.bytes) for one in found.outputs] == [("outputs/r", 3)]
    assert (found.files, found.bytes, found.place) == (1, 3, f"job-{job.number}")
    assert Path(found.directory, found.outputs[0].path).is_file()
    assert not any(isinstance(event, Data) for event in cluster.said)


def test_of_an_array_each_path_goes_on_from_the_directory_that_is_named(cluster: Cluster) -> None:
    made(cluster, tasks=2)
    found = show_outputs(cluster.login, JobOutputs(wanted="last"))
    assert all(Path(found.directory, one.path).is_file() for one in found.outputs)
    assert (found.files, found.is_beside) == (2, False)


def test_what_further_nodes_made_lies_beside_the_directory_that_is_named(cluster: Cluster) -> None:
    job = made(cluster)
    file = job_directory(store_of(cluster.login), job.job).outputs(0, "n2") / "outputs" / "r"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    found = show_outputs(cluster.login, JobOutputs(wanted="last"))
    own, further = found.outputs
    assert Path(found.directory, own.path).is_file()
    assert Path(found.directory).with_name("0@n2") / "outputs/r" == file
    assert (further.path, found.is_beside) == ("0@n2/outputs/r", True)


def test_what_an_earlier_run_alone_made_is_found_from_the_directory_that_is_named(
    cluster: Cluster,
) -> None:
    job = made(cluster)
    outputs = job_directory(store_of(cluster.login), job.job).outputs(0)
    outputs.rename(outputs.with_name("0@run-1"))
    found = show_outputs(cluster.login, JobOutputs(wanted="last"))
    assert Path(found.directory, found.outputs[0].path).is_file()
    assert not found.is_beside


def test_a_link_is_listed_as_one(cluster: Cluster) -> None:
    job = made(cluster)
    file = job_directory(store_of(cluster.login), job.job).outputs(0) / "outputs/r"
    file.with_name("s").symlink_to("r")
    found = show_outputs(cluster.login, JobOutputs(wanted="last"))
    assert [one.is_link for one in found.outputs] == [False, True]
    first, second, *_ = outputs_in_words(found)
    assert (first.split(), second.split()) == (["3", "B", "outputs/r"], ["link", "outputs/s"])


@pytest.mark.parametrize(("wanted", "tasks"), [("{}_2", ()), ("{}", (2,))])
def test_of_an_array_a_task_may_be_chosen(
    cluster: Cluster, wanted: str, tasks: tuple[int, ...]
) -> None:
    job = made(cluster, tasks=3)
    asked = JobOutputs(wanted=wanted.format(job.number), tasks=tasks)
    found = show_outputs(cluster.login, asked)
    assert [one.path for one in found.outputs] == ["2/outputs/r"]
    assert found.tasks == [2]


def test_the_files_follow_as_a_tar(cluster: Cluster, tmp_path: Path) -> None:
    job = made(cluster, tasks=2)
    found = show_outputs(cluster.login, JobOutputs(wanted=job.job, send=True))
    pieces = [event.content for event in cluster.said if isinstance(event, Data)]
    (tmp_path / "x.tar").write_bytes(b"".join(pieces))
    assert unpack(tmp_path / "x.tar", tmp_path / "room") == ["0/outputs/r", "1/outputs/r"]
    assert (tmp_path / "room/1/outputs/r").read_text() == "111"
    assert found.sha256


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("PENDING", "its command has not begun: it waits in the queue"),
        ("RUNNING", "its command has not begun: its files are being brought to its node"),
        ("CANCELLED", "its command was not run; `scratchflow jobs show {}` says why"),
        ("FAILED", "its command was not run; `scratchflow jobs show {}` says why"),
    ],
)
def test_of_a_job_whose_command_was_not_run_it_is_said_why_there_is_nothing(
    cluster: Cluster, state: str, words: str
) -> None:
    job = submit(cluster.login, Submit(command=("true",)))
    cluster.fake.jobs[job.number or 0].state = state
    found = show_outputs(cluster.login, JobOutputs(wanted="last"))
    assert found.rest == [f"job {job.number}: {words.format(job.number)}"]


def test_so_it_is_of_one_that_wrote_down_why(cluster: Cluster) -> None:
    job = submit(cluster.login, Submit(command=("true",)))
    own = TaskRecord(task=0, job_id=job.number, node="n1", phase="ended", start="", error="no room")
    write_task(cluster.desk.place, job.job, own)
    (line,) = show_outputs(cluster.login, JobOutputs(wanted="last")).rest
    assert line.startswith(f"job {job.number}: its command was not run; ")


def test_slurm_need_not_answer(cluster: Cluster) -> None:
    made(cluster)
    cluster.fake.up = False
    assert show_outputs(cluster.login, JobOutputs(wanted="last")).files == 1


def test_a_task_that_is_not_there_is_told(cluster: Cluster) -> None:
    job = made(cluster)
    with pytest.raises(JobNotReady, match=f"job {job.number} has no task 5"):
        show_outputs(cluster.login, JobOutputs(wanted="last", tasks=(5,)))


@pytest.mark.parametrize("state", ["NODE_FAIL", "FAILED", "RUNNING", "PENDING"])
def test_the_node_that_may_have_the_rest_is_named_once_the_run_is_over(
    cluster: Cluster, state: str
) -> None:
    job = submit(cluster.login, Submit(command=("true",)))
    fake = cluster.fake.jobs[job.number or 0]
    fake.state, fake.start = state, 1
    own = TaskRecord(task=0, job_id=job.number, node="n1", phase="running", start="")
    write_task(cluster.desk.place, job.job, own)
    found = show_outputs(cluster.login, JobOutputs(wanted="last"))
    if state == "RUNNING":
        assert (found.unsaved_on, found.rest, found.is_over) == ([], [], False)
        return
    assert (found.unsaved_on, found.is_over) == (["n1"], state != "PENDING")
    (line,) = found.rest
    assert line.startswith(f"job {job.number}: what it made last may still be on `n1`; ")
    assert "`scratchflow submit --sbatch=--nodelist=n1 -- true`" in line


def test_slurm_is_not_asked_about_a_job_that_wrote_its_end(cluster: Cluster) -> None:
    job = made(cluster)
    own = TaskRecord(task=0, job_id=job.number, node="n1", phase="ended", start="", code=0)
    own = msgspec.structs.replace(own, not_collected=["outputs/x: full"])
    write_task(cluster.desk.place, job.job, own)
    cluster.fake.asked.clear()
    found = show_outputs(cluster.login, JobOutputs(wanted="last"))
    assert (cluster.fake.asked, found.files, found.unsaved_on) == ([], 1, ["n1"])


def test_that_what_is_behind_a_link_was_not_saved_is_told(cluster: Cluster) -> None:
    job = made(cluster)
    own = TaskRecord(task=0, job_id=job.number, node="n1", phase="ended", start="", code=0)
    own = msgspec.structs.replace(own, links_out=["outputs: a link"])
    write_task(cluster.desk.place, job.job, own)
    found = show_outputs(cluster.login, JobOutputs(wanted="last"))
    assert (found.unsaved_on, found.rest) == ([], [f"job {job.number}: left out: outputs: a link"])
