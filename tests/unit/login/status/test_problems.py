"""What `status` warns of: each thing that does not fit together, once, with its way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.login.host import LoginHost
from scratchflow.login.status.problems import (
    autobackup_off,
    fewer_nodes,
    job_problems,
    lost_session,
    store_unwritable_problem,
)
from scratchflow.model.allocation import Allocation
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import SessionShown, WorkspaceShown
from scratchflow.store.checks.writable import WriteTrial
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import Pulses
from scratchflow.store.known import note_store
from tests.unit.login.status.test_status import Login


def test_a_manifest_that_cannot_be_read_is_shown_also_when_it_is_not_the_newest(
    login: Login,
) -> None:
    old = login.desk.ids[0]
    login.desk.write("work/more")
    login.desk.backup()
    (login.desk.place.directory / f"{old}.json").write_text("{")
    assert "snapshots.unreadable" in login.problems()


def test_settings_that_changed_since_its_start_are_shown(held: Login) -> None:
    held.beat(settings="other", workspace_exists=True)
    assert held.problems() == ["autobackup.other_settings"]


def test_a_beat_from_the_future_is_neither_life_nor_death_until_it_changes(held: Login) -> None:
    held.beat(seconds_ago=-7200, workspace_exists=True)
    assert held.problems() == ["autobackup.unknown"]
    pulses = Pulses()
    assert held.problems(pulses) == ["autobackup.unknown"]
    held.beat(seconds_ago=-7230, beats=2, workspace_exists=True)
    assert held.problems(pulses) == []
    held.beat(seconds_ago=7200, workspace_exists=True)
    assert held.problems() == ["autobackup.overdue"]


def job(number: int, state: str = "running", **fields: Any) -> Allocation:
    return Allocation(job_id=number, name="n", state=state, nodes=("node-1",), **fields)  # type: ignore[arg-type]


QUIET = AutobackupShown(enabled=False, every_s=1800)


def test_a_workspace_that_nothing_saves_is_a_problem_unless_somebody_switched_that_off(
    held: Login,
) -> None:
    (problem,) = held.look().problems
    assert problem.name == "autobackup.off"
    assert problem.fix == "`scratchflow autobackup on` starts it"
    held.beat(job_id=8, phase="ended")  # of a job before, or of another profile's
    assert held.problems() == ["autobackup.off"]
    held.beat(phase="ended")
    assert held.problems() == []
    assert held.look().autobackup.switched_off
    held.beat(workspace_exists=True)
    assert held.problems() == []


@pytest.mark.parametrize("state", ["pending", "suspended", "ended"])
def test_only_a_job_that_runs_needs_an_auto_backup(state: Any) -> None:
    there = WorkspaceShown(path="/s/work", exists=True, base_snapshot=None)
    assert [one.name for one in autobackup_off(there, job(1), QUIET)] == ["autobackup.off"]
    assert list(autobackup_off(there, job(1, state), QUIET)) == []
    for exists in (None, False):
        gone = msgspec.structs.replace(there, exists=exists)
        assert list(autobackup_off(gone, job(1), QUIET)) == []


def named(jobs: list[Allocation], autobackup: AutobackupShown = QUIET) -> list[str]:
    held = next((one for one in jobs if one.state == "running"), None)
    return [problem.name for problem in job_problems(jobs, held, autobackup)]


def test_two_jobs_of_a_profile_are_one_too_many() -> None:
    assert named([job(1), job(2, "pending")]) == ["allocation.several"]
    assert named([job(1, "ended", cause="timeout"), job(2)]) == []


def test_a_job_that_waits_beside_the_held_one_is_told_with_why_when_and_how_to_withdraw_it() -> (
    None
):
    reason = "waits for a node to become free"
    waits = job(10, "pending", reason_text=reason, start_estimate=1794826320)
    (problem,) = job_problems([job(6), waits], job(6), QUIET)
    assert problem.detail == (
        f"job 6 holds `node-1`; job 10 waits in the queue: {reason}, expected at 2026-11-16T10:52:00Z"
    )
    assert "`scratchflow clear --pending` withdraws it alone" in problem.fix
    assert "`scratchflow hop` waits for it" in problem.fix
    (problem,) = job_problems([job(6), job(7)], job(7), QUIET)
    assert "--pending" not in problem.fix


@pytest.mark.parametrize(
    ("cause", "problems"),
    [
        ("timeout", ["allocation.ended"]),
        ("node_fail", ["allocation.ended"]),
        ("cancelled", []),
        ("completed", []),
    ],
)
def test_an_end_that_the_user_did_not_ask_for_is_told(cause: str, problems: list[str]) -> None:
    assert named([job(1, "ended", cause=cause)]) == problems


@pytest.mark.parametrize(
    ("state", "nodes", "words"),
    [
        ("ended", 1, " on `node-1` has ended: its node failed"),
        ("ended", 2, " on `node-1` has ended: one of its nodes failed"),
        ("completing", 1, " on `node-1` has ended: one of its nodes failed"),
        ("completing", 0, " has ended: its node failed"),
    ],
)
def test_no_node_is_blamed_that_did_not_fail(state: str, nodes: int, words: str) -> None:
    names = ("node-1", "node-2")[:nodes]
    ended = msgspec.structs.replace(job(1, state, cause="node_fail"), nodes=names)
    off = AutobackupShown(enabled=False, every_s=1)
    (problem,) = job_problems([ended], None, off)
    assert problem.detail == f"job 1{words}"


def test_a_dead_auto_backup_is_told_once_and_not_with_its_last_error() -> None:
    dead = AutobackupShown(enabled=True, every_s=1, overdue=True, alive=False, last_error="full")
    assert named([job(1)], dead) == ["autobackup.overdue"]
    failing = AutobackupShown(enabled=True, every_s=1, alive=True, last_error="full")
    assert named([job(1)], failing) == ["autobackup.failed"]


def test_every_problem_says_what_to_run() -> None:
    dead = AutobackupShown(enabled=True, every_s=1, overdue=True)
    for problem in job_problems([job(1), job(2)], job(2), dead):
        assert "`scratchflow " in problem.fix
    lost = SessionShown(name=None, host="login", alive=False)
    assert ["`scratchflow attach`" in problem.fix for problem in lost_session(lost)] == [True]
    elsewhere = SessionShown(name="s", host="login2", alive=None)
    assert list(lost_session(elsewhere)) == []


def test_a_further_node_without_an_auto_backup_or_with_one_that_fails_is_named() -> None:
    shown = AutobackupShown(
        enabled=True,
        every_s=1,
        alive=True,
        missing_on=["node-2"],
        failed_on={"node-3": "full"},
    )
    missing, failed = job_problems([job(1)], job(1), shown)
    assert (missing.name, failed.name) == ("autobackup.missing", "autobackup.failed")
    assert "on `node-2`" in missing.detail
    assert "`scratchflow autobackup on`" in missing.fix
    assert "of `node-3` failed: full" in failed.detail
    assert "`scratchflow backup --from-node node-3`" in failed.fix


@pytest.mark.parametrize(("wanted", "told"), [(1, False), (2, False), (3, True)])
def test_fewer_nodes_than_the_profile_asks_for_are_told(wanted: int, *, told: bool) -> None:
    pair = msgspec.structs.replace(job(5), nodes=("node-1", "node-2"))
    problems = list(fewer_nodes(pair, wanted))
    assert bool(problems) is told
    for problem in problems:
        assert problem.name == "allocation.fewer_nodes"
        assert problem.detail == "job 5 has 2 nodes, and the profile asks for 3"
        assert "`scratchflow hop`" in problem.fix
    assert not list(fewer_nodes(None, wanted))


def test_an_empty_store_is_told_when_another_place_has_the_snapshots(
    login: Login, tmp_path: Path
) -> None:
    old = login.desk.place
    note_store(LoginHost(login.settings, login.environment, lambda _: None).home, old, "0" * 32)
    assert "store.moved" not in login.problems()
    changed = msgspec.structs.replace(login.settings.profile, store=str(tmp_path / "other/store"))
    login.settings = msgspec.structs.replace(login.settings, profile=changed)
    assert "store.moved" in login.problems()


def test_a_store_that_cannot_be_made_is_shown_and_one_that_can_is_not(tmp_path: Path) -> None:
    place = StoreDirectory(tmp_path / "fsx/store/work")
    assert list(store_unwritable_problem(place, WriteTrial())) == []
    (tmp_path / "fsx").mkdir(mode=0o500)
    (problem,) = store_unwritable_problem(place, WriteTrial())
    assert problem.name == "store.unusable"
    assert f"the store `{place.directory}` cannot be used" in problem.detail
    assert f"`ls -ld {tmp_path}/fsx`" in problem.fix
