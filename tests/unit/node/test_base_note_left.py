"""Half a `hop`: two jobs have a copy each. What is saved of the one that was left takes the place of no newer work."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.model.requests import SaveNode, Settle
from scratchflow.model.results.backup import NodeSaved
from scratchflow.model.snapshot import Purpose
from scratchflow.node.autobackup.one_backup import LoopBackup
from scratchflow.node.base_note import is_of_this_job, leave, was_left, was_of_this_job
from scratchflow.node.save_node import save_node
from scratchflow.node.settle import settle
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.nodes import leave_copies, read_nodes
from tests.unit.conftest import Desk
from tests.unit.node.test_settle import in_job


@pytest.fixture
def old(desk: Desk) -> Desk:
    """The node that `hop` leaves."""
    job = in_job(desk, 7)
    job.backup()
    return job


@pytest.fixture
def new(desk: Desk, old: Desk) -> Desk:
    """The node that commands go to by now, with the same snapshot."""
    scratch = desk.scratch.with_name("scratch-2")
    workspace = msgspec.structs.replace(desk.context.workspace, scratch=scratch)
    other = Desk(
        msgspec.structs.replace(desk.context, workspace=workspace, node="node-2", job_id=8)
    )
    settle(other.context, other.notify, Settle(snapshot=old.ids[-1]))
    leave(old.context, old.place)
    return other


def newest(desk: Desk) -> str | None:
    return read_catalogue(desk.place).newest_id


def last_backup(desk: Desk, *, left: bool = False) -> NodeSaved:
    return save_node(desk.context, desk.notify, SaveNode(message="before clear", left=left))


def job_ends(desk: Desk) -> str | None:
    said: list[str] = []
    loop = LoopBackup(desk.context, desk.place, said.append)
    return loop.take("the job ends", "auto", job_ends=True).snapshot


def test_what_is_still_written_there_is_a_fork_of_newer_work(old: Desk, new: Desk) -> None:
    new.write("work/precious", "AFTER")
    after = new.backup(message="mine").snapshot
    old.write("work/noise", "typed in an old window")
    saved = last_backup(old)
    assert (saved.newer, saved.stored, newest(old)) == (after, True, after)
    assert last_backup(new).snapshot == after
    old.write("work/noise", "and once more")
    assert job_ends(old) not in {None, saved.snapshot}
    assert newest(old) == after


def test_it_is_so_when_both_are_saved_for_the_first_time(old: Desk, new: Desk) -> None:
    old.write("work/noise", "by a program that runs on")
    new.write("work/precious", "AFTER")
    fork = last_backup(old, left=True).snapshot
    assert newest(old) == fork  # nothing is newer yet
    after = last_backup(new).snapshot
    assert newest(old) == after
    assert "workspace.behind" in new.warnings  # says what is a fork now
    old.write("work/noise", "on and on")
    job_ends(old)
    assert newest(old) == after
    new.write("work/precious", "LATER")
    assert new.backup(purpose="auto").snapshot == newest(old)


def test_what_goes_on_from_the_newest_work_is_the_newest(old: Desk, new: Desk) -> None:
    old.write("work/result", "of a program that ran on")
    result = last_backup(old).snapshot
    assert newest(new) == result
    settle(new.context, new.notify, Settle(snapshot=result))  # `hop` brings it over
    assert new.content() == old.content()


def test_what_its_auto_backup_takes_is_a_fork_from_the_start(old: Desk, new: Desk) -> None:
    """The new node's copy is what commands go to, though nothing was changed in it yet."""
    present = newest(new)
    old.write("work/result", "of a program that ran on")
    fork = job_ends(old)
    assert newest(new) == present
    assert last_backup(new).snapshot == present
    saved = last_backup(old)
    assert (saved.snapshot, saved.newer, saved.stored) == (fork, present, False)


@pytest.mark.parametrize(("purpose", "is_by_hand"), [("auto", 0), ("final", 0), ("asked", 1)])
@pytest.mark.usefixtures("new")
def test_only_by_hand_is_it_taken_up_again(old: Desk, purpose: Purpose, is_by_hand: int) -> None:
    old.write("work/more", "x")
    old.backup(purpose=purpose)
    assert was_left(old.context, old.place) is not bool(is_by_hand)
    assert is_of_this_job(old.context, old.place) is bool(is_by_hand)
    assert was_of_this_job(old.context, old.place)


def test_up_takes_it_up_again_when_the_other_job_is_gone(old: Desk, new: Desk) -> None:
    new.write("work/other", "y")
    new.backup()
    assert settle(old.context, old.notify, Settle()).action == "restored"
    assert is_of_this_job(old.context, old.place)
    assert old.content() == new.content()


def test_a_copy_of_another_job_is_not_left(old: Desk, new: Desk) -> None:
    assert not was_left(new.context, new.place)
    later = in_job(old, 9)
    leave(later.context, later.place)
    assert not was_left(later.context, later.place)
    before = read_nodes(new.place)
    leave_copies(new.place, lambda record: record.job_id == 1)
    assert read_nodes(new.place) == before


def test_a_copy_that_was_left_and_has_nothing_newer_beside_it_is_taken_up(
    old: Desk, new: Desk
) -> None:
    done = settle(old.context, old.notify, Settle())
    assert done.action == "nothing"
    assert is_of_this_job(old.context, old.place)
    assert new.ids
