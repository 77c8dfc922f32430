"""`clear` gives back only what is in snapshots as a whole, and exactly the jobs that it looked at."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.flows.alias import has_alias, places_of, show_alias
from scratchflow.flows.clear.clear import ClearOptions, clear_on
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    FinalBackupFailed,
    NodeNotSaved,
    NodeSilent,
    SeveralHeld,
)
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.restore import RestoreIncomplete
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.errors.workspace import WorkspaceAtFormerScratch
from scratchflow.model.events import Log, Warned
from scratchflow.model.requests import Release, SaveNode
from scratchflow.model.results.allocation import NodeReleased
from scratchflow.model.results.backup import BackupTaken, NodeSaved
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.status import JobsShown
from scratchflow.process.interrupted import Interrupted
from scratchflow.ssh.config.alias import point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from tests.unit.flows.told import ToldCluster, job

SAVED = NodeSaved(snapshot="last", read_back_age_s=3)
WOULD_SAVE = BackupTaken(
    snapshot=None,
    kind="incremental",
    parent="last",
    files=9,
    bytes=9000,
    changed_files=2,
    changed_bytes=1536,
    stored_bytes=0,
    duration_s=0,
    dry_run=True,
    removed_files=1,
)
FORETOLD = NodeSaved(snapshot=None, foretold={"work": WOULD_SAVE})
UNCHANGED = msgspec.structs.replace(WOULD_SAVE, kind="unchanged", snapshot="last")
FULL = NoSpace(path="/store", reason="no space")
UNSAVED = NodeSaved(snapshot="last", unsaved=7, unsaved_paths=[f"work/{n}" for n in range(7)])


def cluster_with(tmp_path: Path, *jobs: Any, **answers: Any) -> ToldCluster:
    return ToldCluster(
        tmp_path,
        {
            "jobs open": JobsShown(jobs=list(jobs)),
            "save node": SAVED,
            "release": NodeReleased(job_ids=[one.job_id for one in jobs], session_ended=True),
            **answers,
        },
    )


def test_saved_then_released_then_parked(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, job(1))
    point_alias(places_of(cluster.settings), "compile_machine", AliasTarget("p", "n", "u", "aws"))
    done = clear_on(cluster, ClearOptions())
    assert cluster.done == ["jobs open", "save node", "release"]
    assert (done.snapshot, done.released, done.parked, done.job_ids) == ("last", True, True, [1])
    alias = show_alias(cluster.settings)
    assert alias
    assert alias.parked


def test_what_had_a_node_is_told_from_what_only_waited(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, job(1), job(2, "pending"))
    done = clear_on(cluster, ClearOptions())
    assert (done.job_ids, done.withdrawn) == ([1, 2], [2])


def test_what_only_waits_is_withdrawn_and_the_node_and_its_alias_stay(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, job(1), release=NodeReleased(job_ids=[2], session_ended=False))
    point_alias(places_of(cluster.settings), "compile_machine", AliasTarget("p", "n", "u", "aws"))
    done = clear_on(cluster, ClearOptions(pending=True))
    assert cluster.done == ["release"]
    assert (done.job_ids, done.released, done.parked, done.pending) == ([2], True, False, True)
    alias = show_alias(cluster.settings)
    assert alias
    assert not alias.parked


@pytest.mark.parametrize(
    "error", [FULL, NodeNotSaved(node="n", count="1", paths="a", verb="clear", ways="delete it")]
)
def test_a_backup_that_fails_keeps_the_node(tmp_path: Path, error: ScratchflowError) -> None:
    cluster = cluster_with(tmp_path, job(1), **{"save node": error})
    with pytest.raises(FinalBackupFailed):
        clear_on(cluster, ClearOptions())
    assert "release" not in cluster.done


def test_a_job_that_has_ended_is_told_as_that(tmp_path: Path) -> None:
    ended = AllocationEnded(job_id=1, reason="it was cancelled")
    cluster = cluster_with(tmp_path, job(1), **{"save node": ended})
    with pytest.raises(AllocationEnded):
        clear_on(cluster, ClearOptions())


@pytest.mark.parametrize("state", ["suspended", "unknown"])
def test_a_stopped_job_can_neither_be_saved_nor_given_back(tmp_path: Path, state: str) -> None:
    cluster = cluster_with(tmp_path, job(1, state), job(2))
    with pytest.raises(FinalBackupFailed):
        clear_on(cluster, ClearOptions())
    assert cluster.done == ["jobs open"]


def test_files_that_no_snapshot_holds_keep_every_node_unless_they_may_stay_behind(
    tmp_path: Path,
) -> None:
    answers = {1: SAVED, 2: UNSAVED}
    settled = Settled(action="nothing", path="/w", snapshot=None)
    more: Any = {"save node": lambda number: answers[number], "settle": settled}
    cluster = cluster_with(tmp_path, job(1), job(2), **more)
    with pytest.raises(NodeNotSaved, match="7 paths") as caught:
        clear_on(cluster, ClearOptions())
    assert "`work/4`, …" in str(caught.value)
    assert "release" not in cluster.done
    done = clear_on(cluster, ClearOptions(leave_behind=True))
    assert (done.released, done.unsaved) == (True, 7)
    assert [one.code for one in cluster.told if isinstance(one, Warned)] == ["release.left_behind"]


def test_of_two_nodes_the_present_work_is_saved_last(tmp_path: Path) -> None:
    old = Settled(action="restored", path="/w", snapshot="newest")
    present = Settled(action="nothing", path="/w", snapshot=None)
    more: Any = {"settle": lambda number: present if number == 1 else old}
    cluster = cluster_with(tmp_path, job(1), job(2), **more)
    clear_on(cluster, ClearOptions())
    assert [number for do, _, number in cluster.asked if do == "save node"] == [2, 1]


@pytest.mark.parametrize(("meant", "order"), [(1, [2, 1]), (2, [1, 2]), (None, [1, 2])])
def test_of_two_with_present_work_the_one_that_commands_go_to_is_saved_last(
    tmp_path: Path, meant: int | None, order: list[int]
) -> None:
    """As after half a `hop`: what the other one has besides is a fork, and named."""
    both = {"settle": Settled(action="nothing", path="/w", snapshot=None)}
    fork = NodeSaved(snapshot="then-a-fork", newer="last")
    jobs = JobsShown(jobs=[job(1), job(2)], meant=meant)
    answers: Any = {**both, "save node": [fork, SAVED], "jobs open": jobs}
    cluster = cluster_with(tmp_path, job(1), job(2), **answers)
    done = clear_on(cluster, ClearOptions())
    asked: list[Any] = [one for one in cluster.asked if one[0] == "save node"]
    saved = [(number, request.left) for _, request, number in asked]
    assert saved == [(order[0], True), (order[1], False)]
    assert (done.snapshot, done.forks) == ("last", {f"node-{order[0]}": "then-a-fork"})
    (warning,) = [one for one in cluster.told if isinstance(one, Warned)]
    assert "snapshot then-a-fork" in warning.message


def test_every_node_of_a_job_is_saved_the_first_one_last(tmp_path: Path) -> None:
    fork, same = NodeSaved(snapshot="fork", stored=True), NodeSaved(snapshot="base")
    job_of_three = job(1, nodes=["node-1", "node-2", "node-3"])
    answers = [fork, same, SAVED, same, same]
    cluster = cluster_with(tmp_path, job_of_three, **{"save node": answers})
    done = clear_on(cluster, ClearOptions())
    assert cluster.nodes == ["node-2", "node-3", "", "node-2", "node-3"]
    assert [request for do, request, _ in cluster.asked if do == "save node"] == [
        SaveNode(message="before clear, of node-2", beside=True),
        SaveNode(message="before clear, of node-3", beside=True),
        SaveNode(message="before clear"),
        SaveNode(message="before clear, of node-2", beside=True),
        SaveNode(message="before clear, of node-3", beside=True),
    ]
    assert (done.snapshot, done.forks) == ("last", {"node-2": "fork"})
    (told,) = [one for one in cluster.told if isinstance(one, Warned)]
    assert told.code == "nodes.fork"
    assert "`node-2` held changes of its own" in told.message


def test_what_was_written_on_another_node_while_the_first_was_saved_is_saved_too(
    tmp_path: Path,
) -> None:
    same, late = NodeSaved(snapshot="base"), NodeSaved(snapshot="late", stored=True)
    pair = job(1, nodes=["node-1", "node-2"])
    cluster = cluster_with(tmp_path, pair, **{"save node": [same, SAVED, late]})
    assert clear_on(cluster, ClearOptions()).forks == {"node-2": "late"}
    refused = cluster_with(tmp_path, pair, **{"save node": [same, SAVED, UNSAVED]})
    with pytest.raises(NodeNotSaved):
        clear_on(refused, ClearOptions())
    assert "release" not in refused.done


@pytest.mark.parametrize("other", [FULL, UNSAVED])
def test_a_node_whose_own_changes_cannot_be_saved_keeps_them_all(
    tmp_path: Path, other: Any
) -> None:
    pair = job(1, nodes=["node-1", "node-2"])
    cluster = cluster_with(tmp_path, pair, **{"save node": [other, SAVED, other]})
    with pytest.raises((FinalBackupFailed, NodeNotSaved), match="`node-2`"):
        clear_on(cluster, ClearOptions())
    assert "release" not in cluster.done


def test_a_job_that_ends_in_the_middle_tells_which_nodes_were_not_saved(tmp_path: Path) -> None:
    ended = AllocationEnded(job_id=1, reason="one of its nodes failed")
    fork = NodeSaved(snapshot="fork", stored=True)
    three = job(1, nodes=["node-1", "node-2", "node-3"])
    cluster = cluster_with(tmp_path, three, **{"save node": [fork, ended]})
    with pytest.raises(AllocationEnded):
        clear_on(cluster, ClearOptions())
    saved, not_saved = (one for one in cluster.told if isinstance(one, Warned))
    assert (saved.code, not_saved.code) == ("nodes.fork", "nodes.not_saved")
    assert "had saved `node-3`, `node-1`." in not_saved.message
    assert "the next `scratchflow up` that gets the node saves it" in not_saved.message
    alone = cluster_with(tmp_path, job(1), **{"save node": ended})
    with pytest.raises(AllocationEnded):
        clear_on(alone, ClearOptions())
    assert not [one for one in alone.told if isinstance(one, Warned)]


def test_a_hint_that_names_the_way_without_a_backup_is_not_told_twice(tmp_path: Path) -> None:
    silent = NodeSilent(node="node-2", job_id=1, reason="it was killed")
    pair = job(1, nodes=["node-1", "node-2"])
    for error, node in ((silent, pair), (silent, job(1)), (FULL, pair)):
        cluster = cluster_with(tmp_path, node, **{"save node": error})
        with pytest.raises(FinalBackupFailed) as caught:
            clear_on(cluster, ClearOptions())
        hint = caught.value.shown_hint
        assert hint.count("clear --no-backup") + hint.count("scancel 1") == 1


def test_of_several_jobs_no_hint_gives_back_the_healthy_one_too(tmp_path: Path) -> None:
    silent = NodeSilent(node="node-1", job_id=1, reason="it was killed")
    for options in (ClearOptions(), ClearOptions(dry_run=True)):
        for error in (FULL, silent):
            settled = Settled(action="nothing", path="/s/work", snapshot="a")
            answers = {"settle": settled, "save node": error}
            cluster = cluster_with(tmp_path, job(1), job(2), **answers)
            with pytest.raises(FinalBackupFailed) as caught:
                clear_on(cluster, options)
            assert "--no-backup" not in caught.value.shown_hint
            assert "`scancel 1` on the login host gives" in caught.value.shown_hint


def test_of_a_move_that_was_cut_short_hop_is_named_and_restore_is_not(tmp_path: Path) -> None:
    """Commands go to the node that has the work: `restore` would write over that."""
    half = RestoreIncomplete(snapshot="033088", target="/s/work")
    answers = {"settle": half, "save node": half}
    for options in (ClearOptions(), ClearOptions(dry_run=True)):
        cluster = cluster_with(tmp_path, job(1), job(2), **answers)
        with pytest.raises(
            FinalBackupFailed, match=r"on `node-\d` \(job \d\), a restore"
        ) as caught:
            clear_on(cluster, options)
        assert "`scratchflow hop` finishes the move" in caught.value.shown_hint
        assert "scratchflow restore" not in caught.value.shown_hint
        assert caught.value.exit_code == half.exit_code
    with pytest.raises(FinalBackupFailed) as caught:
        clear_on(cluster_with(tmp_path, job(1), **answers), ClearOptions())
    assert "`scratchflow restore` finishes it" in caught.value.shown_hint


@pytest.mark.parametrize("dry_run", [False, True])
def test_without_a_backup_several_nodes_are_kept_and_named(tmp_path: Path, dry_run: bool) -> None:
    jobs = [job(1), job(2), job(3, "pending")]
    cluster = cluster_with(tmp_path, *jobs, **{"jobs open": JobsShown(jobs=jobs, meant=1)})
    with pytest.raises(SeveralHeld, match="commands go to `node-1`") as caught:
        clear_on(cluster, ClearOptions(backup=False, dry_run=dry_run))
    assert "`node-1` (job 1) and `node-2` (job 2)" in str(caught.value)
    assert "`scancel JOB`" in caught.value.shown_hint
    assert "release" not in cluster.done


def test_only_the_jobs_that_were_looked_at_are_released(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, job(1), job(2, "pending"))
    clear_on(cluster, ClearOptions())
    assert [request for do, request, _ in cluster.asked if do == "release"] == [
        Release(job_ids=(1, 2))
    ]
    nothing = cluster_with(tmp_path)
    assert not clear_on(nothing, ClearOptions()).released
    assert nothing.asked[-1][1] == Release(job_ids=())  # none, which is not all


def test_a_dry_run_saves_and_parks_nothing(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, job(1), **{"save node": FORETOLD})
    done = clear_on(cluster, ClearOptions(dry_run=True))
    assert cluster.done == ["jobs open", "save node", "release"]
    assert cluster.asked[1][1] == SaveNode(dry_run=True)
    assert cluster.asked[-1][1] == Release(job_ids=(1,), dry_run=True)
    assert (done.released, done.parked) == (False, False)
    assert done.commands[0] == "scratchflow backup (job 1 on node-1)"
    assert not has_alias(cluster.settings)


def test_a_dry_run_names_no_backup_of_a_node_without_a_workspace(tmp_path: Path) -> None:
    empty = NodeSaved(snapshot=None)
    cluster = cluster_with(tmp_path, job(1), **{"save node": empty})
    assert clear_on(cluster, ClearOptions(dry_run=True)).commands == []
    pair = job(1, nodes=["node-1", "node-2"])
    one_empty = cluster_with(tmp_path, pair, **{"save node": [FORETOLD, empty]})
    done = clear_on(one_empty, ClearOptions(dry_run=True))
    assert done.commands == ["scratchflow backup (job 1 on node-2)"]


@pytest.mark.parametrize(
    ("foretold", "words"),
    [
        (
            {"work": WOULD_SAVE},
            [
                "the last backup would save the workspace: 2 files (1.50 KiB) changed, 1 file removed"
            ],
        ),
        ({"work": UNCHANGED}, ["nothing changed since snapshot last"]),
        ({}, ["there is no workspace on the node: nothing to back up"]),
        (
            {"work": UNCHANGED, "exp": WOULD_SAVE, "old": UNCHANGED},
            [
                "nothing changed since snapshot last",
                "the last backup would save workspace `exp`: 2 files (1.50 KiB) changed, 1 file removed",
            ],
        ),
    ],
)
def test_a_dry_run_says_what_the_last_backup_would_save(
    tmp_path: Path, foretold: dict[str, BackupTaken], words: list[str]
) -> None:
    seen = NodeSaved(snapshot=None, foretold=foretold)
    cluster = cluster_with(tmp_path, job(1), **{"save node": seen})
    clear_on(cluster, ClearOptions(dry_run=True))
    assert [event.message for event in cluster.told if isinstance(event, Log)] == words


def test_a_dry_run_looks_at_every_node_of_the_job(tmp_path: Path) -> None:
    pair = job(1, nodes=["node-1", "node-2"])
    cluster = cluster_with(tmp_path, pair, **{"save node": [FORETOLD, FORETOLD]})
    clear_on(cluster, ClearOptions(dry_run=True))
    assert cluster.nodes == ["node-2", ""]
    assert cluster.asked[1][1] == SaveNode(beside=True, dry_run=True)
    said = [event.message for event in cluster.told if isinstance(event, Log)]
    assert said[0].startswith("the last backup of `node-2` would save the workspace: 2 files")
    refused = cluster_with(tmp_path, pair, **{"save node": [UNSAVED, FORETOLD]})
    with pytest.raises(NodeNotSaved, match="`node-2`"):
        clear_on(refused, ClearOptions(dry_run=True))


def test_a_dry_run_fails_for_files_that_no_backup_can_read(tmp_path: Path) -> None:
    seen = msgspec.structs.replace(FORETOLD, unsaved=1, unsaved_paths=["work/closed"])
    cluster = cluster_with(tmp_path, job(1), **{"save node": seen})
    with pytest.raises(NodeNotSaved) as caught:
        clear_on(cluster, ClearOptions(dry_run=True))
    assert "no snapshot holds 1 path on it: `work/closed`" in str(caught.value)
    assert cluster.done == ["jobs open", "save node"]
    assert clear_on(cluster, ClearOptions(dry_run=True, leave_behind=True)).dry_run


def test_a_dry_run_fails_with_what_would_keep_the_node(tmp_path: Path) -> None:
    elsewhere = WorkspaceAtFormerScratch.of("/old/work", "work", "/new/work")
    cluster = cluster_with(tmp_path, job(1), **{"save node": elsewhere})
    with pytest.raises(WorkspaceAtFormerScratch):
        clear_on(cluster, ClearOptions(dry_run=True))
    cluster = cluster_with(tmp_path, job(1, "suspended"))
    with pytest.raises(FinalBackupFailed):
        clear_on(cluster, ClearOptions(dry_run=True))
    assert "release" not in cluster.done
    cluster = cluster_with(tmp_path, job(1))
    clear_on(cluster, ClearOptions(dry_run=True, backup=False))
    assert cluster.done == ["jobs open", "release"]


def test_without_a_backup_nothing_is_saved(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, job(1, "suspended"))
    assert clear_on(cluster, ClearOptions(backup=False)).released
    assert "save node" not in cluster.done


def test_what_else_was_on_the_node_and_what_is_newer_is_passed_on(tmp_path: Path) -> None:
    saved = NodeSaved(snapshot="old", newer="newest", others={"p2": "second"})
    done = clear_on(cluster_with(tmp_path, job(1), **{"save node": saved}), ClearOptions())
    assert (done.snapshot, done.newer, done.others) == ("old", "newest", {"p2": "second"})


def test_without_a_backup_it_says_what_a_scratch_that_goes_with_its_job_takes_along(
    tmp_path: Path,
) -> None:
    for scratch, codes in [("$SLURM_TMPDIR", ["release.scratch_goes"]), ("/scratch/$USER", [])]:
        cluster = cluster_with(tmp_path, job(1))
        profile = msgspec.structs.replace(cluster.settings.profile, scratch=scratch)
        cluster.settings = msgspec.structs.replace(cluster.settings, profile=profile)
        clear_on(cluster, ClearOptions(backup=False))
        assert [one.code for one in cluster.told if isinstance(one, Warned)] == codes


def test_what_no_snapshot_holds_goes_with_the_job_where_scratch_does(tmp_path: Path) -> None:
    going = msgspec.structs.replace(UNSAVED, goes_with_job=True)
    cluster = cluster_with(tmp_path, job(1), **{"save node": going})
    assert clear_on(cluster, ClearOptions(leave_behind=True)).goes_with_job
    (warned,) = [one for one in cluster.told if isinstance(one, Warned)]
    assert "go with the job, in no snapshot" in warned.message


@pytest.mark.parametrize(
    ("goes", "fate"),
    [
        (False, "stays on its scratch; remove it when you have that node again"),
        (True, "goes with the job"),
    ],
)
def test_what_jobs_debug_made_is_named(tmp_path: Path, goes: bool, fate: str) -> None:
    saved = NodeSaved(snapshot="last", debug_copies=["/s/debug/j-0"], goes_with_job=goes)
    cluster = cluster_with(tmp_path, job(1), **{"save node": saved})
    clear_on(cluster, ClearOptions())
    said = [event.message for event in cluster.told if isinstance(event, Log)]
    words = f"what `jobs debug` made on `node-1` is in no snapshot and {fate}: `/s/debug/j-0`"
    assert words in said


@pytest.mark.parametrize(
    ("goes", "fate"), [(False, "stays on `node-1`"), (True, "goes with the job")]
)
def test_what_is_excluded_is_told_with_what_becomes_of_it(
    tmp_path: Path, goes: bool, fate: str
) -> None:
    saved = NodeSaved(
        snapshot="last", excluded=["data/", "*.o"], other_files=["outside.txt"], goes_with_job=goes
    )
    cluster = cluster_with(tmp_path, job(1), **{"save node": saved})
    clear_on(cluster, ClearOptions())
    said = [event.message for event in cluster.told if isinstance(event, Log)]
    assert f"excluded (`data/`, `*.o`): what matches is in no snapshot, and {fate}" in said
    (beside,) = [one for one in said if "beside the workspace" in one]
    assert "no backup saves what lies beside the workspace on `node-1`: `outside.txt`;" in beside
    cluster = cluster_with(tmp_path, job(1))
    clear_on(cluster, ClearOptions())
    assert not [one for one in cluster.told if isinstance(one, Log) and "excluded" in one.message]


def test_ctrl_c_that_comes_too_late_to_keep_the_node_says_so(tmp_path: Path) -> None:
    late = Interrupted(signal.SIGINT)
    with pytest.raises(EndedBySignal, match=r"^Cancelled\. Slurm was asked already to end job 1;"):
        clear_on(cluster_with(tmp_path, job(1), release=late), ClearOptions())
    for options, jobs in ((ClearOptions(dry_run=True), [job(1)]), (ClearOptions(), [])):
        with pytest.raises(Interrupted):
            clear_on(cluster_with(tmp_path, *jobs, release=late), options)
