"""What a task prints is sent as it comes, from a position on, up to its end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scratchflow.model.events import Data, Event
from scratchflow.model.job import TaskRecord
from scratchflow.model.requests import TailLogs
from scratchflow.node.job.tail import tail
from scratchflow.node.progress import Notifier
from scratchflow.process.waiting import Clock
from scratchflow.store.jobs.records import job_directory, make_job_directory, write_task
from tests.unit.conftest import Desk
from tests.unit.store.jobs.test_records import record

JOB = "20261115T093000Z-3f2a9c"
OWN = TaskRecord(task=0, job_id=1, node="n", phase="running", start="")


@pytest.fixture
def ready(desk: Desk) -> Desk:
    desk.backup()
    make_job_directory(desk.place, record(JOB))
    return desk


def read(
    desk: Desk, sleep: Callable[[float], None] = lambda _: None, **asked: object
) -> list[Data]:
    said: list[Event] = []
    request = TailLogs(job=JOB, task=0, **asked)  # type: ignore[arg-type]
    tail(desk.context, Notifier(said.append), request, Clock(lambda: 0.0, sleep))
    return [event for event in said if isinstance(event, Data)]


def test_what_is_there_is_sent_from_the_position_on(ready: Desk) -> None:
    where = job_directory(ready.place, JOB)
    assert read(ready) == []
    where.output(0).write_bytes(b"one\ntwo\n")
    where.output(0, error=True).write_bytes(b"bad\xff\n")
    assert read(ready, output_from=4) == [
        Data(content=b"two\n"),
        Data(content=b"bad\xff\n", is_error=True),
    ]
    assert read(ready, only_error=True) == [Data(content=b"bad\xff\n", is_error=True)]


def test_one_that_was_queued_again_is_not_waited_for_on_this_node(ready: Desk) -> None:
    again = TaskRecord(task=0, job_id=1, node="n", phase="requeued", start="", code=0)
    write_task(ready.place, JOB, again)
    job_directory(ready.place, JOB).output(0).write_bytes(b"one\n")

    def sleep(_: float) -> None:
        raise AssertionError("it waits")

    assert read(ready, sleep, follow=True) == [Data(content=b"one\n")]


def test_followed_it_goes_on_until_the_task_has_ended(ready: Desk) -> None:
    file = job_directory(ready.place, JOB).output(0)
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        with file.open("ab") as opened:
            opened.write(b"%d" % len(looks))
        if len(looks) == 3:
            ended = TaskRecord(task=0, job_id=1, node="n", phase="ended", start="", code=0)
            write_task(ready.place, JOB, ended)

    write_task(ready.place, JOB, OWN)
    assert [event.content for event in read(ready, sleep, follow=True)] == [b"1", b"2", b"3"]
