"""What a person reads after `clear`."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cli.clear import _shown
from scratchflow.model.results.allocation import Cleared
from scratchflow.model.results.status import ElsewhereShown, SubmittedOpen
from scratchflow.testing.store import make_id


@pytest.mark.parametrize(
    ("cleared", "line"),
    [
        (Cleared(job_id=7, snapshot=None, released=True, job_ids=[7]), "job 7 was given back"),
        (
            Cleared(job_id=8, snapshot=None, released=True, job_ids=[7, 8]),
            "jobs 7, 8 were given back",
        ),
        (Cleared(job_id=None, snapshot=None, released=True), "the session was ended"),
        (
            Cleared(job_id=7, snapshot=None, released=True, job_ids=[7], pending=True),
            "withdrawn from the queue: job 7",
        ),
        (
            Cleared(job_id=None, snapshot=None, released=False, pending=True),
            "no request waits in the queue",
        ),
        (Cleared(job_id=None, snapshot=None, released=False), "there was no allocation"),
    ],
)
def test_every_job_that_was_given_back_is_named(cleared: Cleared, line: str) -> None:
    assert line in list(_shown(cleared))


def test_what_else_of_the_users_stays_on_the_cluster_is_named() -> None:
    held = ElsewhereShown(profile="gpu", job_id=15, state="running", node="node-2")
    waits = ElsewhereShown(profile="two", job_id=16, state="pending")
    jobs = [SubmittedOpen(job_id=29, waits=False), SubmittedOpen(job_id=30, waits=True)]
    cleared = Cleared(job_id=7, snapshot=None, released=True, job_ids=[7])
    cleared = msgspec.structs.replace(cleared, elsewhere=[held, waits], submitted=jobs)
    assert list(_shown(cleared))[1:] == [
        "profile `gpu` still holds `node-2`, job 15; `scratchflow -p gpu clear` ends that",
        "profile `two` still waits for a node, job 16; `scratchflow -p two clear` ends that",
        "submitted jobs 29, 30 go on; `scratchflow jobs` lists them",
    ]


def test_a_job_of_a_profile_that_is_not_here_is_named_with_what_ends_it_from_here() -> None:
    held = ElsewhereShown(
        profile="y4", job_id=54, state="running", node="node-3", cancel="ssh hpc scancel 54"
    )
    cleared = Cleared(job_id=7, snapshot=None, released=True, job_ids=[7], elsewhere=[held])
    assert list(_shown(cleared))[-1] == (
        "profile `y4` still holds `node-3`, job 54; `scratchflow -p y4 clear` ends that on a machine"
        " that has this profile; `ssh hpc scancel 54` ends it from here, without a backup"
    )


def test_submitted_jobs_of_other_profiles_are_told_as_such() -> None:
    mine = SubmittedOpen(job_id=29, waits=False)
    others = [SubmittedOpen(job_id=job, waits=False, is_listed=False) for job in (31, 32)]
    cleared = Cleared(job_id=7, snapshot=None, released=True, submitted=[mine, *others])
    assert list(_shown(cleared))[-2:] == [
        "submitted job 29 goes on; `scratchflow jobs` lists it",
        "jobs 31, 32, submitted with another profile, go on; `scratchflow -p PROFILE jobs` lists them",
    ]


def test_a_job_that_only_waited_is_told_as_withdrawn() -> None:
    waited = Cleared(job_id=19, snapshot=None, released=True, job_ids=[19], withdrawn=[19])
    assert list(_shown(waited)) == ["withdrawn from the queue: job 19"]
    both = Cleared(job_id=19, snapshot=None, released=True, job_ids=[7, 19], withdrawn=[19])
    assert list(_shown(both)) == ["job 7 was given back", "withdrawn from the queue: job 19"]


def test_every_workspace_on_the_node_is_named_with_the_way_back() -> None:
    others = {"p2": make_id(0, "98c09c")}
    cleared = Cleared(job_id=7, snapshot=make_id(1, "aaaaaa"), released=True, others=others)
    lines = list(_shown(cleared))
    assert lines[0].startswith("the workspace is saved in snapshot aaaaaa")
    saved = "workspace `p2`, on the same node, is saved in snapshot 98c09c"
    assert lines[1] == f"{saved}; `scratchflow --set workspace=p2 restore` brings it"


def test_of_an_older_copy_only_what_was_new_in_it_is_told_with_the_snapshot_that_has_it() -> None:
    others = {"p2": make_id(0, "98c09c")}
    cleared = Cleared(job_id=7, snapshot="s", released=True, others=others, old_others=["p2"])
    assert not any("p2" in line for line in _shown(cleared))
    forked = msgspec.structs.replace(cleared, old_others=[], forked_others=["p2"])
    (line,) = [line for line in _shown(forked) if "p2" in line]
    assert line.endswith("`scratchflow --set workspace=p2 restore 98c09c` brings it")


def test_a_workspace_of_another_store_is_brought_from_there() -> None:
    cleared = Cleared(
        job_id=7,
        snapshot="s",
        released=True,
        others={"p2": make_id(0, "98c09c")},
        other_stores={"p2": "/fsx/my data"},
    )
    (line,) = [line for line in _shown(cleared) if "`p2`" in line]
    assert "`scratchflow --set 'store=/fsx/my data' --set workspace=p2 restore`" in line


def test_another_copy_on_the_node_is_told_as_neither_the_newest_work_nor_older() -> None:
    copy, newest = make_id(2, "739aa9"), make_id(1, "96eba8")
    cleared = Cleared(job_id=7, snapshot=copy, newer=newest, read_back_age_s=0, released=True)
    line = next(_shown(cleared))
    assert line.startswith(
        "the node held another copy of the workspace, which is in snapshot 739aa9"
    )
    assert line.endswith("the newest snapshot is 96eba8")


def test_a_snapshot_that_is_the_only_copy_is_told_as_that() -> None:
    saved = Cleared(job_id=7, snapshot="last", released=True, job_ids=[7], goes_with_job=True)
    assert "that is the only copy" in " ".join(_shown(saved))


def test_paths_that_were_left_on_another_node_are_not_missing_in_the_first_nodes_snapshot() -> None:
    saved = make_id(1, "aaaaaa")
    cleared = Cleared(job_id=7, snapshot=saved, released=True, unsaved=2, unsaved_beside=2)
    assert next(_shown(cleared)).startswith("the workspace is saved in snapshot aaaaaa")
    own = msgspec.structs.replace(cleared, unsaved_beside=1)
    assert "aaaaaa holds the workspace without 1 path" in next(_shown(own))


def test_a_dry_run_has_a_line_for_each_step_or_says_that_there_is_none() -> None:
    steps = ["scratchflow backup (job 7 on node-1)", "scancel 7"]
    asked = Cleared(job_id=7, snapshot=None, released=False, dry_run=True, commands=steps)
    assert list(_shown(asked))[1:] == [f"  {step}" for step in steps]
    none = msgspec.structs.replace(asked, commands=[])
    assert list(_shown(none)) == ["would run: nothing, there is no allocation"]
