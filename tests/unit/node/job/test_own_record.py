"""What a running task writes down of itself, without running anything."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.store import NoSpace
from scratchflow.model.job import JobRecord, TaskRecord
from scratchflow.model.results.jobs import FurtherEnded
from scratchflow.node.job import own_record as module
from scratchflow.node.job.collect import Collected
from scratchflow.node.job.own_record import OwnRecord, first_words
from scratchflow.store.jobs.records import job_directory, make_job_directory, read_task
from tests.unit.conftest import Desk

JOB = "20261115T093000Z-3f2a9c"
RECORD = JobRecord(
    id=JOB,
    time="2026-11-15T09:30:00Z",
    name="n",
    profile="test",
    workspace="work",
    snapshot="s",
    command=["true"],
)
EARLIER = TaskRecord(
    task=0,
    job_id=40,
    node="node-9",
    start="2026-11-15T09:31:00Z",
    phase="running",
    continued=2,
    collected_files=3,
    collected_paths=["a"],
    links_out=["results -> /data"],
    removed=["old"],
)


def own(desk: Desk, earlier: TaskRecord | None = None, **said: object) -> OwnRecord:
    desk.place.directory.mkdir(parents=True)
    make_job_directory(desk.place, RECORD)
    first = first_words(desk.context, {}, 0, desk.scratch / "jobs/n", earlier)
    return OwnRecord(desk.context, desk.place, RECORD, msgspec.structs.replace(first, **said))


def written(desk: Desk) -> TaskRecord | None:
    return read_task(desk.place, JOB, 0)


def test_a_run_begins_with_what_earlier_ones_have_saved(desk: Desk) -> None:
    said = own(desk, EARLIER).said
    assert (said.phase, said.node) == ("restoring", desk.context.node)
    assert (said.continued, said.collected_files, said.collected_paths) == (2, 3, ["a"])
    assert (said.left_on, said.removed) == (["node-9"], ["old"])


@pytest.mark.parametrize(("target", "goes"), [("scratch/jobs/n", False), ("of-slurm/n", True)])
def test_a_copy_beside_scratch_goes_with_its_job(desk: Desk, target: str, goes: bool) -> None:
    said = first_words(desk.context, {}, 0, desk.scratch.parent / target, None)
    assert said.goes_with_job == goes


def test_what_slurm_gave_is_noted(desk: Desk) -> None:
    given = {"SLURM_CPUS_ON_NODE": "4", "SLURM_GPUS": "", "SLURM_RESTART_COUNT": "2"}
    said = first_words(desk.context, given, 7, Path("/x"), None)
    assert (said.got, said.restarts, said.task) == ({"cpus": "4"}, 2, 7)


def test_a_change_is_written_with_the_next_word(desk: Desk) -> None:
    record = own(desk)
    record.change(code=3)
    assert written(desk) is None
    record.tell(phase="running")
    assert written(desk) == record.said
    assert (record.said.code, record.said.phase) == (3, "running")


def test_a_word_that_the_store_does_not_take_now_is_told_with_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = own(desk)
    with monkeypatch.context() as full:
        full.setattr(module, "write_task", raising(NoSpace(path="/store", reason="full")))
        record.tell_if_it_can(code=4)
    record.tell(phase="ended")
    seen = written(desk)
    assert seen
    assert (seen.code, seen.phase) == (4, "ended")


def raising(error: Exception) -> object:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_this_run_counts_beside_earlier_ones_and_their_links_stay_told(desk: Desk) -> None:
    record = own(desk, EARLIER, earlier_files=2, earlier_bytes=20)
    record.note_links(["more -> /etc"])
    record.count(Collected(files=1, bytes=5, paths=("b",), links_out=("results -> /data",)))
    said = record.said
    assert (said.collected_files, said.collected_bytes, said.collected_paths) == (3, 25, ["b"])
    assert said.links_out == ["results -> /data", "more -> /etc"]


def test_what_lies_aside_of_earlier_runs_is_counted(desk: Desk) -> None:
    record = own(desk)
    outputs = job_directory(desk.place, JOB).outputs(0)
    outputs.mkdir(parents=True)
    (outputs / "now").write_text("12345")
    record.count_earlier()
    assert (record.said.collected_files, record.said.collected_bytes) == (1, 5)
    assert record.said.earlier_files == 0


def test_a_further_node_that_says_nothing_is_named_as_not_saved(desk: Desk) -> None:
    record = own(desk, further_nodes=["node-2", "node-3"], collected_files=1)
    record.count_further([FurtherEnded(node="node-2", collected_files=4, not_collected=["x"])])
    assert record.said.collected_files == 5
    assert record.said.not_collected == ["x", "node-3: it did not say what it has saved"]


def test_nothing_is_left_on_a_node_that_was_looked_at(desk: Desk) -> None:
    lines = {"node-1": ["a"], "node-9": ["b"], "node-8": []}
    record = own(desk, left_on=["node-1", "node-9"], left_failed=lines)
    record.nothing_is_left_on("node-1")
    assert (record.said.left_on, record.said.left_failed) == (["node-9"], {"node-9": ["b"]})


def test_a_store_that_is_full_while_it_prints_is_noted_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = own(desk)
    record.note_full_store()
    assert not record.said.full_since
    monkeypatch.setattr(module, "write_failure", lambda _: NoSpace(path="/store", reason="full"))
    record.note_full_store()
    since = record.said.full_since
    assert since
    record.note_full_store()
    assert record.said.full_since == since
