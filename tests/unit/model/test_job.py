"""Which tasks a record says were submitted."""

from __future__ import annotations

from scratchflow.model.job import JobRecord, is_job_id

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
