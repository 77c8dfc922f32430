"""Which tasks a record says were submitted."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.model.job import JobRecord, TaskRecord, is_job_id

PLAIN = JobRecord(
    id="20261115T093000Z-3f2a9c",
    time="2026-11-15T09:30:00Z",
    name="train",
    profile="aws",
    workspace="work",
    snapshot="20261115T092959Z-000000",
    command=["true"],
)


def test_a_plain_job_has_one_task() -> None:
    assert (PLAIN.task_numbers, PLAIN.is_array) == ([0], False)
    assert is_job_id(PLAIN.id)


def test_a_rerun_of_some_has_those() -> None:
    three = JobRecord(
        **{**{f: getattr(PLAIN, f) for f in PLAIN.__struct_fields__}, "tasks": [{}] * 3}
    )
    assert (three.task_numbers, three.is_array) == ([0, 1, 2], True)
    some = JobRecord(**{**{f: getattr(three, f) for f in three.__struct_fields__}, "chosen": [1]})
    assert (some.task_numbers, some.is_array) == ([1], True)


OWN = TaskRecord(task=0, job_id=7, node="a", further_nodes=["b"], phase="ended", start="", code=0)


@pytest.mark.parametrize(
    ("changes", "nodes"),
    [
        ({}, []),
        ({"phase": "running"}, ["a", "b"]),
        ({"phase": "running", "code": None}, ["a", "b"]),
        ({"phase": "running", "saved_on": ["a"]}, ["b"]),
        ({"phase": "running", "goes_with_job": True}, []),
        ({"phase": "requeued"}, []),
        ({"phase": "restoring", "code": None}, []),
        ({"phase": "restoring", "code": None, "left_on": ["c"]}, ["c"]),
        ({"left_on": ["c"]}, ["c"]),  # it has run again since, and what is there is its own
        ({"left_on": ["c", "a"], "phase": "running", "saved_on": ["c"]}, ["a", "b"]),
        ({"left_on": ["c"], "not_collected": ["x: full"], "goes_with_job": True}, ["c"]),
        ({"code": None, "error": "x", "not_collected": ["outputs/x: full"]}, ["a"]),
        ({"not_collected": ["outputs/x: full"]}, ["a"]),
        ({"not_collected": ["b: outputs/x: full"]}, ["b"]),
        ({"not_collected": ["x: full"], "goes_with_job": True}, []),
    ],
)
def test_which_nodes_may_have_something_that_is_not_saved(
    changes: dict[str, object], nodes: list[str]
) -> None:
    own = msgspec.structs.replace(OWN, **changes)
    assert own.unsaved_on == nodes


def test_what_went_with_the_job_is_lost() -> None:
    gone = msgspec.structs.replace(OWN, goes_with_job=True)
    assert not gone.has_lost
    assert msgspec.structs.replace(gone, phase="running").has_lost
    assert msgspec.structs.replace(gone, not_collected=["x: full"]).has_lost
