"""A workspace that was renamed on its node is found again, and nothing else is taken for it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from shutil import rmtree

import msgspec
import pytest

from scratchflow.model.errors.workspace import WorkspaceMissing, WorkspaceRenamed
from scratchflow.model.events import Warned
from scratchflow.model.requests import Backup, DiffWorkspace, Restore, RunAt, SaveNode, Settle
from scratchflow.node.backup import requested_backup
from scratchflow.node.history.live_diff import diff_workspace
from scratchflow.node.renamed import all_renamed, renamed_to
from scratchflow.node.restore.restore import requested_restore
from scratchflow.node.run_place import run_place
from scratchflow.node.save_node import save_node
from scratchflow.node.settle import settle
from scratchflow.store.nodes import read_nodes, record_node
from scratchflow.workspace.notes import Base, noted_base, write_base
from scratchflow.workspace.workspace import Workspace
from tests.unit.conftest import Desk


@pytest.fixture
def renamed(desk: Desk) -> Desk:
    desk.backup()
    desk.write("work/unsaved", "precious")
    desk.work.rename(desk.scratch / "thesis")
    desk.write("conda/x")
    return desk


def _there(desk: Desk) -> tuple[Workspace, Path]:
    return desk.context.workspace, desk.context.store


def _own(desk: Desk, name: str) -> Desk:
    """As with `--set workspace=NAME`."""
    profile = msgspec.structs.replace(desk.context.profile, workspace=name)
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    workspace = Workspace(desk.scratch, name)
    return Desk(msgspec.structs.replace(desk.context, settings=settings, workspace=workspace))


def _note(desk: Desk) -> Base:
    note = noted_base(desk.context.workspace)
    assert note is not None
    return note


def test_it_is_found_by_its_number_and_its_names(renamed: Desk) -> None:
    assert renamed_to(*_there(renamed)) == renamed.scratch / "thesis"
    (renamed.scratch / "thesis").rename(renamed.work)
    assert renamed_to(*_there(renamed)) is None


def test_another_directory_that_was_given_the_number_is_not_taken_for_it(renamed: Desk) -> None:
    rmtree(renamed.scratch / "thesis")
    other = renamed.scratch / "conda"
    note = msgspec.structs.replace(_note(renamed), inode=other.stat().st_ino)
    (renamed.context.workspace.state / "base.json").write_bytes(msgspec.json.encode(note))
    assert renamed_to(*_there(renamed)) is None
    (other / "README").write_text("a name that the workspace had, too")
    assert renamed_to(*_there(renamed)) == other


def test_a_note_of_an_earlier_version_says_nothing(renamed: Desk) -> None:
    note = msgspec.structs.replace(_note(renamed), inode=0)
    (renamed.context.workspace.state / "base.json").write_bytes(msgspec.json.encode(note))
    assert renamed_to(*_there(renamed)) is None
    saved = save_node(renamed.context, renamed.notify, SaveNode(message="before clear"))
    maybe = "(`work`, which it may be, is gone)"
    assert sorted(saved.unsaved_paths) == [f"conda {maybe}", f"thesis {maybe}"]


def test_up_does_not_put_an_older_state_in_its_place(renamed: Desk) -> None:
    with pytest.raises(WorkspaceRenamed) as refused:
        settle(renamed.context, renamed.notify, Settle())
    thesis = renamed.scratch / "thesis"
    assert f"run --cwd {renamed.scratch} -- mv thesis work`" in refused.value.shown_hint
    assert not renamed.work.exists()
    renamed.restore()  # whoever asks for it gets it
    assert "workspace.renamed" in renamed.warnings
    assert (thesis / "unsaved").read_text() == "precious"
    assert settle(renamed.context, renamed.notify, Settle()).action == "nothing"


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_backup_by_hand_names_it_and_the_way_back(renamed: Desk, *, dry_run: bool) -> None:
    with pytest.raises(WorkspaceRenamed, match=r"was renamed to .*thesis") as refused:
        requested_backup(renamed.context, renamed.notify, Backup(dry_run=dry_run))
    assert "-- mv thesis work`" in refused.value.shown_hint
    with pytest.raises(
        WorkspaceMissing
    ):  # `hop` and `clear` ask for everything on the node, and name it there
        requested_backup(renamed.context, renamed.notify, Backup(purpose="final"))
    rmtree(renamed.scratch / "thesis")
    with pytest.raises(WorkspaceMissing):
        requested_backup(renamed.context, renamed.notify, Backup())


def test_a_restore_names_the_way_back_and_its_dry_run_does(renamed: Desk) -> None:
    way = f"`scratchflow run --cwd {renamed.scratch} -- mv -T thesis work` gives it its name back"
    for dry_run in (True, False):
        renamed.events.clear()
        requested_restore(renamed.context, renamed.notify, Restore(dry_run=dry_run))
        (said,) = [one.message for one in renamed.events if isinstance(one, Warned)]
        assert f"nothing saves it; {way} while there is no `work`, `scratchflow --set" in said
    # Typed after the restore it does not put the one into the other.
    moved = subprocess.run(["mv", "-T", "thesis", "work"], cwd=renamed.scratch, check=False)
    assert moved.returncode != 0
    assert (renamed.scratch / "thesis/unsaved").exists()


@pytest.mark.parametrize(
    "ask",
    [
        lambda desk: diff_workspace(desk.context, desk.notify, DiffWorkspace()),
        lambda desk: run_place(desk.context, desk.notify, RunAt()),
    ],
)
def test_whatever_needs_the_workspace_names_it_and_the_way_back(
    renamed: Desk, ask: Callable[[Desk], object]
) -> None:
    with pytest.raises(WorkspaceRenamed) as refused:
        ask(renamed)
    assert "-- mv thesis work`" in refused.value.shown_hint
    rmtree(renamed.scratch / "thesis")
    with pytest.raises(WorkspaceMissing):
        ask(renamed)


def test_of_an_earlier_job_it_is_said_and_up_goes_on(renamed: Desk) -> None:
    later = Desk(msgspec.structs.replace(renamed.context, job_id=9))
    assert settle(later.context, later.notify, Settle()).action == "restored"
    assert "workspace.renamed" in later.warnings


@pytest.mark.parametrize("is_of_this_job", [True, False])
def test_the_node_is_kept_whoever_the_store_says_was_there_last(
    renamed: Desk, is_of_this_job: bool
) -> None:
    if not is_of_this_job:
        (record,) = read_nodes(renamed.place)
        record_node(renamed.place, msgspec.structs.replace(record, job_id=1234))
    saved = save_node(renamed.context, renamed.notify, SaveNode(message="before clear"))
    assert (saved.unsaved, saved.unsaved_paths) == (1, ["thesis (it was `work`)"])
    assert saved.other_files == ["conda"]
    (way,) = saved.unsaved_ways
    assert "gives `thesis` its name back" in way


def test_the_number_is_noted_with_the_snapshot(desk: Desk) -> None:
    desk.backup()
    workspace = desk.context.workspace
    assert _note(desk).inode == desk.work.stat().st_ino
    rmtree(desk.work)
    write_base(workspace, desk.context.store, _note(desk).snapshot)
    assert _note(desk).inode == 0


def _restored(desk: Desk) -> None:
    desk.restore()


def _made_anew(desk: Desk) -> None:
    desk.write("work/a", "another")


def _made_anew_and_saved(desk: Desk) -> None:
    _made_anew(desk)
    desk.backup(allow_shrink=True)


def _again(desk: Desk) -> None:
    """And the one after it, too."""
    desk.restore()
    desk.work.rename(desk.scratch / "a second one")
    desk.restore()


@pytest.mark.parametrize("then", [_restored, _made_anew, _made_anew_and_saved, _again])
def test_it_is_not_forgotten_when_another_one_is_in_its_place(
    desk: Desk, then: Callable[[Desk], None]
) -> None:
    desk.write("work/a", "one")
    desk.backup()
    desk.write("work/unsaved", "precious")
    desk.work.rename(desk.scratch / "thesis")
    then(desk)
    assert renamed_to(*_there(desk)) is None
    names = ["a second one", "thesis"] if then is _again else ["thesis"]
    assert [path.name for path in all_renamed(*_there(desk))] == names
    saved = save_node(desk.context, desk.notify, SaveNode(message="before clear"))
    assert saved.unsaved_paths == [f"{name} (it was `work`)" for name in names]
    (way,) = saved.unsaved_ways
    assert f"--set {quote(f'workspace={names[0]}')} backup` saves `{names[0]}`" in way
    assert not saved.other_files
    desk.events.clear()
    requested_backup(desk.context, desk.notify, Backup(allow_shrink=True))
    assert desk.warnings.count("workspace.renamed") == len(names)


def test_what_became_a_workspace_of_its_own_or_went_is_forgotten(desk: Desk) -> None:
    desk.write("work/a", "one")
    desk.backup()
    for name in ("kept", "deleted", "emptied"):
        desk.work.rename(desk.scratch / name)
        desk.restore()
    assert len(all_renamed(*_there(desk))) == 3
    _own(desk, "kept").backup()
    rmtree(desk.scratch / "deleted")
    rmtree(desk.scratch / "emptied")
    (desk.scratch / "emptied").mkdir()
    assert all_renamed(*_there(desk)) == []
    saved = save_node(desk.context, desk.notify, SaveNode(message="before clear"))
    assert saved.unsaved == 0


def test_what_is_saved_with_it_waits_for_its_name(desk: Desk) -> None:
    workspace = msgspec.structs.replace(desk.context.workspace, also=("env",))
    whole = Desk(msgspec.structs.replace(desk.context, workspace=workspace))
    whole.write("env/x", "1")
    whole.backup()
    whole.work.rename(whole.scratch / "thesis")
    saved = save_node(whole.context, whole.notify, SaveNode(message="before clear"))
    assert saved.unsaved_paths == ["env (`work` beside it is gone)", "thesis (it was `work`)"]
    assert not any("scratchflow restore" in way for way in saved.unsaved_ways)
