"""What a person reads of the auto-backup: when the next one is due, and that a job's end has one."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cli.status_lines import following_words, shown
from scratchflow.model.ages import at
from scratchflow.model.allocation import AllocationState
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import (
    AliasShown,
    ElsewhereShown,
    Problem,
    RunningShown,
    SessionShown,
)
from tests.unit.flows.test_next_step import RUNNING, WELL

SOON, END, LATER = (f"2026-11-15T{clock}:00Z" for clock in ("05:30", "06:00", "06:54"))


@pytest.mark.parametrize(
    ("next_time", "end_time", "words"),
    [
        (SOON, END, f", next at {at(SOON)}"),
        (SOON, None, f", next at {at(SOON)}"),
        (LATER, END, ", next when the job ends"),
        (END, END, ", next when the job ends"),
        (None, END, ""),
    ],
)
def test_nothing_is_due_after_the_end(
    next_time: str | None, end_time: str | None, words: str
) -> None:
    assert following_words(next_time, end_time) == words
    assert following_words(next_time, end_time, "regular") == words


def test_what_is_not_due_by_the_interval_is_told_with_the_reason() -> None:
    assert following_words(SOON, END, "final") == f", next at {at(SOON)} (before the time limit)"
    assert following_words(SOON, END, "retry").endswith("(again, after a failure)")
    assert following_words(LATER, END, "final") == ", next when the job ends"


@pytest.mark.parametrize(
    ("next_time", "job_id", "line"),
    [
        (SOON, 7, f"every 30 min, next at {at(SOON)}, and when the job ends"),
        (LATER, 7, "every 30 min, next when the job ends"),
        (SOON, None, f"every 30 min, next at {at(SOON)}"),
    ],
)
def test_a_job_is_promised_a_last_snapshot(next_time: str, job_id: int | None, line: str) -> None:
    held = msgspec.structs.replace(RUNNING, end_time=END if job_id else None, job_id=job_id)
    autobackup = AutobackupShown(enabled=True, every_s=1800, next_time=next_time)
    picture = msgspec.structs.replace(WELL, allocation=held, autobackup=autobackup)
    rows = [row for row in shown(picture) if row.startswith("auto-backup")]
    assert rows == [f"auto-backup  {line}"]


@pytest.mark.parametrize(
    ("state", "node", "row"),
    [
        ("running", "node-1", "also yours   node-1, job 11, held by profile `short`:"),
        ("pending", None, "also yours   a place in the queue, job 11, held by profile `short`:"),
    ],
)
def test_nodes_of_other_profiles_are_not_forgotten(
    state: AllocationState, node: str | None, row: str
) -> None:
    other = ElsewhereShown(profile="short", job_id=11, state=state, node=node)
    picture = msgspec.structs.replace(WELL, elsewhere=[other])
    assert f"{row} `scratchflow -p short status`" in list(shown(picture))


def test_an_alias_that_ssh_does_not_know_is_not_called_parked() -> None:
    gone = AliasShown(name="compile_machine", target=None, parked=True, exists=False)
    text = "\n".join(shown(msgspec.structs.replace(WELL, alias=gone)))
    assert "no `compile_machine` for ssh yet; `scratchflow up` makes it" in text
    assert "parked" not in text


def test_an_alias_that_leads_to_a_node_of_another_profile_says_whose_it_is() -> None:
    shared = AliasShown(name="gpu", target="node-1", parked=False, of_profile="x2")
    lines = list(shown(msgspec.structs.replace(WELL, alias=shared)))
    assert any("leads to node-1 of profile `x2`" in line for line in lines)


def test_a_parked_alias_and_the_session_are_told_with_what_they_are_for() -> None:
    parked = AliasShown(name="compile_machine", target=None, parked=True)
    text = "\n".join(shown(msgspec.structs.replace(WELL, alias=parked)))
    assert "compile_machine is parked: it leads to no node until `scratchflow up`" in text
    assert "; `scratchflow attach` opens it" in text
    lost = SessionShown(name=None, host=None, alive=False)
    text = "\n".join(shown(msgspec.structs.replace(WELL, session=lost)))
    assert "no session; `scratchflow attach` starts one" in text
    text = "\n".join(shown(msgspec.structs.replace(WELL, session=lost, allocation=None)))
    assert "no session; `scratchflow up` starts one" in text


def test_the_place_of_the_snapshots_is_shown_with_the_guide_beside_them() -> None:
    picture = msgspec.structs.replace(WELL, store="/fsx/me/store/work")
    host = picture.session.host
    where = f"store        /fsx/me/store/work on {host}, with HOW-TO-RESTORE.txt"
    assert where in list(shown(picture))


@pytest.mark.parametrize(("store", "unread"), [("/fsx/me/store/work", 0), ("", 2)])
def test_a_store_that_can_be_read_but_not_written_to_has_its_snapshots_shown(
    store: str, unread: int
) -> None:
    problem = Problem(name=StoreUnusable.code, detail="read-only", fix="tell the staff")
    picture = msgspec.structs.replace(WELL, problems=[problem], store=store)
    assert "\n".join(shown(picture)).count("not known") == unread


def test_a_backup_that_runs_is_told_with_its_node_and_since_when() -> None:
    running = RunningShown(doing="backup", host="node-1", since=SOON)
    rows = list(shown(msgspec.structs.replace(WELL, running=running)))
    assert f"running      backup on node-1 since {at(SOON)}" in rows
    assert not [row for row in shown(WELL) if row.startswith("running")]
