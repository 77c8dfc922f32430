"""Each end in words, with the next step."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.login.jobs.ends import name_of, why
from scratchflow.model.job import SlurmTask, TaskRecord
from tests.unit.model.test_job import PLAIN

RECORD = msgspec.structs.replace(PLAIN, number=41, slurm={"mem": "4G", "time": "1:00:00"})
OWN = TaskRecord(task=0, job_id=41, node="n1", phase="ended", start="", code=3)


def said(state: str, **more: object) -> SlurmTask:
    return SlurmTask(task=0, job_id=41, state=state, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "more", "words"),
    [
        (
            "OUT_OF_MEMORY",
            {"peak_memory_bytes": 4 << 30},
            "it ran out of memory: asked for 4G, used 4.00 GiB at the end; `scratchflow jobs rerun 41 --mem 8G` gives it more",
        ),
        (
            "TIMEOUT",
            {},
            "its time limit was reached (1:00:00); `scratchflow jobs rerun 41 --time 02:00:00` gives it twice as long",
        ),
        (
            "CANCELLED",
            {"cancelled_by": "bob"},
            "it was cancelled by bob; `scratchflow jobs rerun 41` runs it again from the same snapshot",
        ),
        (
            "CANCELLED",
            {},
            "it was cancelled; `scratchflow jobs rerun 41` runs it again from the same snapshot",
        ),
        ("FAILED", {}, "exit code 3; `scratchflow logs 41` shows what it printed"),
        (
            "NODE_FAIL",
            {},
            "its node failed; `scratchflow jobs rerun 41` runs it again from the same snapshot",
        ),
        ("COMPLETED", {}, ""),
        ("RUNNING", {}, ""),
    ],
)
def test_the_end_is_told(state: str, more: dict[str, object], words: str) -> None:
    assert why(RECORD, 0, state, OWN, said(state, **more)) == words


def test_one_that_could_not_write_down_its_end_is_told_as_that() -> None:
    own = msgspec.structs.replace(OWN, code=None, phase="running")
    words = why(RECORD, 0, "FAILED", own, said("FAILED", code=24))
    assert words.startswith("it could write no word of its end, as when the store is away on `n1`")


def test_a_command_that_was_not_run_says_why() -> None:
    own = msgspec.structs.replace(OWN, code=None, error="no space")
    assert why(RECORD, 0, "FAILED", own, None) == "the command was not run: no space"


@pytest.mark.parametrize(
    ("asked", "accounted", "words"),
    [
        ("", "256Mn", "asked for 256M; `scratchflow jobs rerun 41 --mem 1G` gives it more"),
        ("", "256Mc", "asked for 256Mc; `scratchflow jobs rerun 41` with a larger `--mem`"),
        ("0", "", "asked for 0; `scratchflow jobs rerun 41` with a larger `--mem`"),
        ("", "", "memory; `scratchflow jobs rerun 41` with a larger `--mem`"),
    ],
)
def test_more_memory_is_advised_as_far_as_it_is_known(
    asked: str, accounted: str, words: str
) -> None:
    record = msgspec.structs.replace(RECORD, slurm={"mem": asked})
    told = said("OUT_OF_MEMORY", asked_memory=accounted)
    assert words in why(record, 0, "OUT_OF_MEMORY", OWN, told)


def test_of_an_array_the_task_alone_is_run_again() -> None:
    record = msgspec.structs.replace(RECORD, tasks=[{}, {}])
    assert "`scratchflow jobs rerun 41_1`" in why(record, 1, "NODE_FAIL", None, None)


def test_one_that_did_not_go_on_says_why() -> None:
    own = msgspec.structs.replace(OWN, not_continued="it has done so 2 times")
    told = "its time limit was near, and it did not go on in another run: it has done so 2 times"
    assert why(RECORD, 0, "COMPLETED", own, None) == told


def test_a_command_that_ended_before_the_failure_is_not_called_unrun() -> None:
    own = msgspec.structs.replace(OWN, error="the store is full")
    words = why(RECORD, 0, "FAILED", own, None)
    assert words == "the command ended with 3, and then: the store is full"


def test_a_limit_that_came_while_outputs_were_saved_is_told_as_that() -> None:
    own = msgspec.structs.replace(OWN, phase="running", code=0)
    words = why(RECORD, 0, "TIMEOUT", own, None)
    assert words.startswith("the command ended with 0; ")
    assert "what was not saved by then is on `n1`" in words


def test_a_task_is_named_as_slurm_names_it() -> None:
    assert name_of(RECORD, 0) == "41"
    assert name_of(msgspec.structs.replace(RECORD, tasks=[{}, {}]), 1) == "41_1"
