"""`settle`: which copy on a node counts as the present work, and what is said of one that does not."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.archive.restore import apply_delta
from scratchflow.flows import up
from scratchflow.model.errors.hop import WorkDiverged
from scratchflow.model.errors.workspace import WorkspaceBehind, WorkspaceIsLink
from scratchflow.model.events import Log, Warned
from scratchflow.model.requests import SaveNode, Settle
from scratchflow.model.results.create import WorkspaceCreated
from scratchflow.model.results.restore import Settled
from scratchflow.node.create import create
from scratchflow.node.save_node import save_node
from scratchflow.node.settle import settle
from scratchflow.store.catalogue import begun_at, read_catalogue
from scratchflow.workspace.notes import Restoring, begin_restoring
from tests.unit.conftest import Desk, make_desk
from tests.unit.login.status.test_status import Login


def in_job(desk: Desk, job_id: int, node: str = "node-1", name: str = "") -> Desk:
    """The same scratch and store, as a job on a node sees them."""
    context = msgspec.structs.replace(desk.context, node=node, job_id=job_id)
    return Desk(msgspec.structs.replace(context, job_name=lambda: name))


def settled(desk: Desk, *, dry_run: bool = False) -> Settled:
    return settle(desk.context, desk.notify, Settle(dry_run=dry_run))


@pytest.fixture
def elsewhere(desk: Desk) -> Desk:
    """Another node with the same store. Yesterday's job left a copy on `node-1`; work went on here."""
    in_job(desk, 1).backup()
    scratch = desk.scratch.with_name("scratch-2")
    workspace = msgspec.structs.replace(desk.context.workspace, scratch=scratch)
    other = Desk(
        msgspec.structs.replace(desk.context, workspace=workspace, node="node-2", job_id=2)
    )
    other.restore()
    other.write("work/chapter2", "new work")
    other.backup()
    return other


def test_of_two_that_start_at_once_the_slower_one_takes_what_the_other_has_just_made(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def create_after_another(*arguments: Any) -> WorkspaceCreated:
        made.append(create(*arguments).snapshot)
        return create(*arguments)

    monkeypatch.setattr("scratchflow.node.create.create", create_after_another)
    done = settled(desk)
    assert (done.action, done.snapshot) == ("nothing", made[0])
    assert len(read_catalogue(desk.place).snapshots) == 1


def test_a_look_does_not_make_yesterdays_copy_the_present_work(desk: Desk, elsewhere: Desk) -> None:
    context = in_job(desk, 3)
    assert context.backup().kind == "unchanged"
    assert settled(context, dry_run=True).action == "restored"
    assert settled(context).action == "restored"
    assert context.content() == elsewhere.content()


@pytest.mark.parametrize("dry_run", [True, False])
def test_no_part_is_put_into_yesterdays_copy_while_work_went_on_elsewhere(
    desk: Desk, elsewhere: Desk, *, dry_run: bool
) -> None:
    """Its safety snapshot would be the newest, and what was made elsewhere a fork."""
    today = in_job(desk, 3)
    before, newest = desk.content(), read_catalogue(desk.place).newest_id
    with pytest.raises(WorkspaceBehind, match=f"up to {newest}") as refused:
        today.restore(paths=("chapter2",), dry_run=dry_run)
    assert "`scratchflow up`" in refused.value.shown_hint
    assert (desk.content(), read_catalogue(desk.place).newest_id) == (before, newest)
    assert today.restore(paths=("chapter2",), to=desk.scratch.with_name("aside")).written_files == 1
    settled(today)  # as `up` does
    today.write("work/chapter2", "worse")
    assert today.restore(paths=("chapter2",)).written_files == 1
    assert desk.content() == elsewhere.content()


def test_whoever_says_so_goes_on_with_yesterdays_copy(desk: Desk, elsewhere: Desk) -> None:
    today = in_job(desk, 3)
    newest = str(read_catalogue(desk.place).newest_id)
    assert today.backup(message="from here on").snapshot != newest
    today.restore(newest, paths=("chapter2",))
    assert desk.content() == elsewhere.content()


def test_on_another_node_of_the_job_what_is_saved_first_does_not_become_the_newest(
    desk: Desk, elsewhere: Desk
) -> None:
    context = in_job(desk, 3, node="node-3")
    context.write("work/README", "changed in the old copy")
    done = settle(context.context, context.notify, Settle(beside=True))
    assert done.action == "restored"
    assert done.restored
    assert done.restored.committed_as is None
    assert context.content() == elsewhere.content()
    elsewhere.restore()  # the newest
    assert context.content() == elsewhere.content()
    context.restore(done.restored.safety_snapshot or "")
    assert context.content()["README"] == b"changed in the old copy"


def test_nor_does_a_refused_clear_that_saved_what_was_changed_in_it(
    desk: Desk, elsewhere: Desk
) -> None:
    context = in_job(desk, 3)
    context.write("work/README", "changed in the old copy")
    context.write("work/closed").chmod(0)
    saved = save_node(context.context, context.notify, SaveNode(message="before clear"))
    assert saved.unsaved == 1
    (context.work / "closed").unlink()
    assert settled(context).action == "restored"
    assert context.content() == elsewhere.content()
    context.restore(saved.snapshot or "")
    assert context.content()["README"] == b"changed in the old copy"


def test_what_this_job_restored_or_stored_stays_whatever_the_store_gets(
    desk: Desk, elsewhere: Desk
) -> None:
    context = in_job(desk, 3)
    context.write("work/mine", "of this job")
    mine = context.backup().snapshot
    elsewhere.write("work/chapter3")
    newest = elsewhere.backup().snapshot
    assert context.backup().kind == "unchanged"
    left = settled(context)
    assert (left.action, left.snapshot, left.newer) == ("nothing", mine, newest)


@pytest.mark.parametrize(
    ("written_as", "name", "action"),
    [
        ("scratchflow:p:aaaa", "scratchflow:p:aaaa", "nothing"),
        ("scratchflow:p:aaaa", "scratchflow:p:bbbb", "restored"),  # Slurm gave the number out again
        ("", "scratchflow:p:aaaa", "nothing"),  # a record of an earlier version
        ("scratchflow:p:aaaa", "", "nothing"),  # Slurm does not answer
    ],
)
def test_a_job_of_the_same_number_is_this_job_only_by_its_name(
    desk: Desk, elsewhere: Desk, written_as: str, name: str, action: str
) -> None:
    before = in_job(desk, 3, name=written_as)
    before.write("work/mine")
    before.backup()
    elsewhere.write("work/chapter3")
    elsewhere.backup()
    assert settled(in_job(desk, 3, name=name), dry_run=True).action == action


def test_a_copy_that_a_second_job_of_the_same_number_goes_on_with_becomes_its_work(
    desk: Desk, elsewhere: Desk
) -> None:
    in_job(desk, 3, name="first").restore()
    second = in_job(desk, 3, name="second")
    assert settled(second).action == "nothing"
    elsewhere.write("work/chapter3")
    elsewhere.backup()
    assert settled(second).action == "nothing"


def test_a_copy_that_up_found_to_be_the_newest_is_this_jobs_work(
    desk: Desk, elsewhere: Desk
) -> None:
    """Changes that were made in it since are not replaced because another node saved something."""
    again = msgspec.structs.replace(elsewhere.context, job_id=4)
    context = Desk(again)
    assert settled(context).newer is None
    other = in_job(desk, 5)
    other.restore()
    other.write("work/chapter3")
    newest = other.backup().snapshot
    left = settled(context)
    assert (left.action, left.newer) == ("nothing", newest)


@pytest.fixture
def gone_back(desk: Desk, elsewhere: Desk) -> Desk:
    """A job that went back to what was copied here from elsewhere, which made that the newest again."""
    here = in_job(desk, 3)
    here.write("work/mine", "of this job")
    here.backup()
    again = here.restore(elsewhere.ids[1])
    assert again.committed_as == here.ids[-1]
    return here


def test_what_continues_the_snapshot_that_somebody_went_back_to_is_brought(
    gone_back: Desk, elsewhere: Desk
) -> None:
    elsewhere.write("work/chapter3", "went on from it")
    wanted = str(elsewhere.backup().snapshot)
    asked = Settle(snapshot=wanted)
    done = settle(gone_back.context, gone_back.notify, asked)
    assert (done.action, done.snapshot) == ("restored", wanted)
    assert gone_back.content() == elsewhere.content()


@pytest.mark.parametrize("saved", [True, False])
def test_what_was_changed_since_somebody_went_back_to_it_is_not_replaced(
    gone_back: Desk, elsewhere: Desk, *, saved: bool
) -> None:
    elsewhere.write("work/chapter3", "went on from it")
    wanted = str(elsewhere.backup().snapshot)
    gone_back.write("work/mine", "since then")
    if saved:
        gone_back.backup()
    before = gone_back.content()
    with pytest.raises(WorkDiverged):
        settle(gone_back.context, gone_back.notify, Settle(snapshot=wanted))
    assert gone_back.content() == before


@pytest.mark.parametrize("changed", [True, False])
def test_a_look_tells_of_a_snapshot_that_is_yet_to_come_what_would_be_done(
    gone_back: Desk, elsewhere: Desk, *, changed: bool
) -> None:
    before = gone_back.ids
    asked = Settle(dry_run=True, snapshot="to come", parents={"to come": elsewhere.ids[1]})
    if changed:
        gone_back.write("work/mine", "since then")
        with pytest.raises(WorkDiverged):
            settle(gone_back.context, gone_back.notify, asked)
    else:
        assert settle(gone_back.context, gone_back.notify, asked).action == "restored"
    other = Settle(dry_run=True, snapshot="to come", parents={"to come": before[0]})
    with pytest.raises(WorkDiverged):
        settle(gone_back.context, gone_back.notify, other)
    assert gone_back.ids == before


@pytest.fixture
def made_empty(tmp_path: Path) -> Desk:
    """A job of another cluster, where `up` has just made the first workspace."""
    (tmp_path / "there").mkdir()
    there = in_job(make_desk(tmp_path / "there"), 9)
    assert settled(there).action == "created"
    return there


@pytest.mark.parametrize("later", [True, False])
def test_an_empty_workspace_that_was_never_used_is_filled(
    desk: Desk, made_empty: Desk, *, later: bool
) -> None:
    (empty,) = made_empty.ids
    wanted = _copied(desk, made_empty, later=later)
    assert settle(
        made_empty.context, made_empty.notify, Settle(dry_run=True, snapshot="to come")
    ) == Settled(action="restored", path=str(made_empty.work), snapshot="to come")
    done = settle(made_empty.context, made_empty.notify, Settle(snapshot=wanted))
    assert done.action == "restored"
    assert made_empty.content() == desk.content()
    assert empty in made_empty.ids
    # A second try, with what was saved since, goes on from it.
    desk.write("work/more", "since")
    more = _copied(desk, made_empty, later=True)
    settle(made_empty.context, made_empty.notify, Settle(snapshot=more))
    assert made_empty.content() == desk.content()


@pytest.mark.parametrize("what", ["a file", "a link", "a directory", "saved", "saved and gone"])
def test_one_that_was_used_is_not(desk: Desk, made_empty: Desk, what: str) -> None:
    if what == "a link":
        (made_empty.work / "link").symlink_to("nowhere")
    elif what == "a directory":
        (made_empty.work / "directory").mkdir()
    else:
        made_empty.write("work/mine", "work")
    if what.startswith("saved"):
        made_empty.backup()
    if what == "saved and gone":
        made_empty.restore(made_empty.ids[0])
    before = sorted(made_empty.work.iterdir())
    wanted = _copied(desk, made_empty, later=True)
    with pytest.raises(WorkDiverged):
        settle(made_empty.context, made_empty.notify, Settle(snapshot=wanted))
    assert sorted(made_empty.work.iterdir()) == before


def test_nor_is_an_empty_copy_where_another_node_went_on_from_it(
    desk: Desk, made_empty: Desk
) -> None:
    (empty,) = made_empty.ids
    scratch = made_empty.scratch.with_name("scratch-2")
    workspace = msgspec.structs.replace(made_empty.context.workspace, scratch=scratch)
    other = Desk(
        msgspec.structs.replace(made_empty.context, workspace=workspace, node="node-2", job_id=2)
    )
    other.restore(empty)
    other.write("work/mine", "work")
    other.backup()
    wanted = _copied(desk, made_empty, later=True)
    with pytest.raises(WorkDiverged):
        settle(made_empty.context, made_empty.notify, Settle(snapshot=wanted))


def _copied(source: Desk, target: Desk, *, later: bool) -> str:
    """A snapshot, copied into the other store; taken before or after all that is there."""
    moment = begun_at(target.ids[-1]) + timedelta(hours=1 if later else -1)
    context = msgspec.structs.replace(source.context, now=lambda: moment)
    snapshot = str(Desk(context).backup().snapshot)
    for file in (source.place.archive(snapshot), source.place.manifest(snapshot)):
        shutil.copy(file, target.place.directory)
    return snapshot


def test_status_says_that_the_copy_on_the_node_does_not_continue_the_newest(
    desk: Desk, elsewhere: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = Login(desk, monkeypatch)
    login.hold()
    (problem,) = [one for one in login.look().problems if one.name == "workspace.behind"]
    assert elsewhere.ids[-1] in problem.detail
    mine = in_job(desk, 7).backup(message="goes on here")  # as it says, though nothing changed
    assert read_catalogue(desk.place).newest_id == mine.snapshot
    assert "workspace.behind" not in login.problems()
    elsewhere.write("work/more")
    elsewhere.backup()
    assert "workspace.behind" in login.problems()
    in_job(desk, 7).restore()
    assert "workspace.behind" not in login.problems()


def test_status_on_one_machine_says_it_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.backup()
    login = Login(desk, monkeypatch)
    assert login.problems() == []
    scratch = desk.scratch.with_name("scratch-2")
    workspace = msgspec.structs.replace(desk.context.workspace, scratch=scratch)
    other = Desk(msgspec.structs.replace(desk.context, workspace=workspace, node="node-2"))
    other.restore()
    other.write("work/more")
    other.backup()
    assert login.problems() == ["workspace.behind"]


def test_up_warns_when_it_leaves_an_older_state() -> None:
    heard: list[object] = []
    up._say(Settled(action="nothing", path="/s/work", snapshot="a", newer="b"), heard.append)
    (warning,) = [one for one in heard if isinstance(one, Warned)]
    assert warning.code == "workspace.behind"
    assert "b" in warning.message


def test_a_restore_that_this_job_began_is_finished_not_undone(desk: Desk) -> None:
    job = in_job(desk, 1)
    old = str(job.backup().snapshot)
    wanted = job.content()
    job.write("work/README", "newer, and longer")
    job.backup()
    begin_restoring(job.context.workspace, Restoring(snapshot=old, mode="delta"))
    assert settled(job).action == "restored"
    assert job.content() == wanted


def test_one_that_an_earlier_job_began_gives_way_to_the_newest(desk: Desk, elsewhere: Desk) -> None:
    old = desk.ids[0]
    begin_restoring(desk.context.workspace, Restoring(snapshot=old, mode="delta"))
    job = in_job(desk, 3)
    assert settled(job).action == "restored"
    assert job.content() == elsewhere.content()


def test_a_workspace_that_became_a_link_is_told_before_a_backup_fails(desk: Desk) -> None:
    here = in_job(desk, 1)
    here.backup()
    moved = desk.work.with_name("elsewhere")
    desk.work.rename(moved)
    desk.work.symlink_to(moved)
    with pytest.raises(WorkspaceIsLink):
        settled(here)


def test_what_comes_to_another_node_is_told_when_it_was_saved_before_a_restore(
    elsewhere: Desk,
) -> None:
    good = elsewhere.ids[-1]
    elsewhere.write("work/chapter2", "bad")
    safety = elsewhere.restore(paths=("chapter2",)).safety_snapshot
    scratch = elsewhere.scratch.with_name("scratch-3")
    workspace = msgspec.structs.replace(elsewhere.context.workspace, scratch=scratch)
    third = msgspec.structs.replace(elsewhere.context, workspace=workspace, node="node-3", job_id=3)
    there = Desk(third)
    assert settled(there).action == "restored"
    said = [event.message for event in there.events if isinstance(event, Log)]
    assert any(f"{safety}, was saved before a restore" in one and good in one for one in said)


def test_an_environment_that_did_not_come_along_is_told_wherever_the_workspace_came_from(
    tmp_path: Path,
) -> None:
    desk = make_desk(tmp_path, '[profiles.test.environment]\nvenv = "env"\n')
    shutil.rmtree(desk.work)
    assert settled(desk, dry_run=True).missing_layer == ""
    made = settled(desk)
    assert (made.action, made.missing_layer) == ("created", "venv")
    shutil.rmtree(desk.work)
    brought = settled(desk)
    assert (brought.action, brought.missing_layer) == ("restored", "venv")
    desk.write("env/bin/activate")
    there = settled(desk)
    assert (there.action, there.missing_layer) == ("nothing", "")


def test_a_copy_that_fell_behind_is_never_the_newest_work_while_it_is_restored(
    desk: Desk, elsewhere: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that fails in the middle of `hop` would have half of two states brought back as the newest."""
    newest = elsewhere.ids[-1]
    desk.write("work/left", "unsaved in yesterday's copy")
    elsewhere.write("work/second", "x")
    wanted = str(elsewhere.backup().snapshot)
    target = in_job(desk, 3)

    def killed(applying: apply_delta._Application, *_: object) -> None:
        applying.displacing.before_change()
        (desk.work / "second").write_text("half")
        raise KeyboardInterrupt

    saved = []
    with monkeypatch.context() as interrupted:
        interrupted.setattr(apply_delta._Application, "run", killed)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                settled(target)
            catalogue = read_catalogue(desk.place)
            assert catalogue.newest_id == wanted
            saved.append(catalogue.snapshots[-1])
    assert [one.purpose for one in saved] == ["safety", "safety"]
    assert all(one.beside for one in saved)
    done = settled(target)
    assert (done.action, done.snapshot) == ("restored", wanted)
    assert desk.content() == elsewhere.content()
    assert read_catalogue(desk.place).newest_id == wanted
    assert newest in desk.ids
    again = desk.scratch.with_name("saved")
    desk.restore(saved[0].id, to=again)
    assert (again / "work/left").read_text() == "unsaved in yesterday's copy"
