"""What a person reads after `clear`."""

from __future__ import annotations

import pytest

from scratchflow.cli.clear import _shown
from scratchflow.model.results import Cleared


@pytest.mark.parametrize(
    ("cleared", "line"),
    [
        (Cleared(job_id=7, snapshot=None, released=True, job_ids=[7]), "job 7 was given back"),
        (
            Cleared(job_id=8, snapshot=None, released=True, job_ids=[7, 8]),
            "jobs 7, 8 were given back",
        ),
        (Cleared(job_id=None, snapshot=None, released=True), "the session was ended"),
        (Cleared(job_id=None, snapshot=None, released=False), "there was no allocation"),
    ],
)
def test_every_job_that_was_given_back_is_named(cleared: Cleared, line: str) -> None:
    assert line in list(_shown(cleared))
