"""What `allocate` tells a person: the node, whether the work is on it, and how to get it there."""

from __future__ import annotations

import pytest

from scratchflow.cli.allocate import shown
from scratchflow.model.results.allocation import Allocated

# Of the future: without an age, which would be another one tomorrow.
OLD, NEW = "20991115T093000Z-aaaaaa", "20991116T093000Z-bbbbbb"


@pytest.mark.parametrize(
    ("warm", "newest", "line"),
    [
        (None, "", "`scratchflow up` brings the workspace there"),
        (OLD, "", "it is warm: its scratch holds snapshot aaaaaa"),
        (OLD, NEW, "its scratch holds an older copy, of snapshot aaaaaa; `scratchflow up` brings the newest, bbbbbb"),
    ],
)  # fmt: skip
def test_it_says_what_is_there_and_what_comes_next(
    warm: str | None, newest: str, line: str
) -> None:
    got = Allocated(
        job_id=7,
        node="node-1",
        partition="dev",
        end_time=None,
        alias="compile_machine",
        reused=False,
        warm=warm,
        newest=newest,
        command="salloc",
    )
    first, *others = shown(got)
    assert first == "node `node-1`, job 7"
    assert others == [line, "`ssh compile_machine` leads there"]


def test_on_one_machine_the_workspace_is_there() -> None:
    got = Allocated(
        job_id=None,
        node="here",
        partition="",
        end_time=None,
        alias=None,
        reused=False,
        warm=None,
        command="",
    )
    assert list(shown(got)) == ["node `here`"]
