"""What was given up is noted for exactly one copy on one node."""

from __future__ import annotations

import stat

import msgspec
import pytest

from scratchflow.store.directory import JOBS_NAME, StoreDirectory
from scratchflow.store.jobs.given_up import (
    GivenUp,
    forget_given_up,
    note_given_up,
    read_given_up,
)
from scratchflow.store.jobs.records import job_ids, make_job_directory
from scratchflow.testing.store import make_id
from tests.unit.store.jobs.test_records import place as place  # noqa: PLC0414 - a fixture
from tests.unit.store.jobs.test_records import record

JOB, OTHER = make_id(1), make_id(2)
COPY = GivenUp(job=JOB, task=0, number=7, node="n1", shown="7")


def test_it_is_found_for_this_copy_and_no_other_until_it_is_forgotten(
    place: StoreDirectory,
) -> None:
    make_job_directory(place, record(OTHER))
    assert read_given_up(place, JOB, 0, "n1") is None
    further = msgspec.structs.replace(COPY, node="n2")
    note_given_up(place, [COPY, further])
    note_given_up(place, [COPY])
    assert read_given_up(place, JOB, 0, "n1") == COPY
    assert read_given_up(place, JOB, 0, "n2") == further
    for job, task, node in ((JOB, 1, "n1"), (JOB, 0, "n"), (OTHER, 0, "n1")):
        assert read_given_up(place, job, task, node) is None
    forget_given_up(place, COPY)
    forget_given_up(place, COPY)
    assert read_given_up(place, JOB, 0, "n1") is None
    assert read_given_up(place, JOB, 0, "n2") == further


def test_it_is_private_and_no_job(place: StoreDirectory) -> None:
    make_job_directory(place, record(OTHER))
    note_given_up(place, [COPY])
    assert job_ids(place) == [OTHER]
    (file,) = (place.directory / JOBS_NAME / "given-up").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]"])
def test_one_that_cannot_be_read_gives_nothing_up(place: StoreDirectory, content: bytes) -> None:
    make_job_directory(place, record(OTHER))
    note_given_up(place, [COPY])
    (file,) = (place.directory / JOBS_NAME / "given-up").iterdir()
    file.write_bytes(content)
    assert read_given_up(place, JOB, 0, "n1") is None


def test_one_that_was_renamed_by_hand_is_about_no_other_copy(place: StoreDirectory) -> None:
    make_job_directory(place, record(OTHER))
    note_given_up(place, [COPY])
    (file,) = (place.directory / JOBS_NAME / "given-up").iterdir()
    file.rename(file.with_name(file.name.replace(JOB, OTHER)))
    assert read_given_up(place, OTHER, 0, "n1") is None


@pytest.mark.parametrize(("job", "node"), [("../x", "n1"), (JOB, "../../x")])
def test_no_name_leads_out_of_its_directory(place: StoreDirectory, job: str, node: str) -> None:
    with pytest.raises(ValueError, match="not a copy"):
        note_given_up(place, [GivenUp(job=job, task=0, number=1, node=node)])
