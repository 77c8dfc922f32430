"""A workspace that was renamed on its node is found again, and nothing else is taken for it."""

from __future__ import annotations

from shutil import rmtree

import msgspec
import pytest

from scratchflow.model.errors.workspace import WorkspaceRenamed
from scratchflow.model.requests import SaveNode, Settle
from scratchflow.node.renamed import renamed_to
from scratchflow.node.save_node import save_node
from scratchflow.node.settle import settle
from scratchflow.store.nodes import read_nodes, record_node
from scratchflow.workspace.notes import Base, noted_base, write_base
from tests.unit.conftest import Desk


@pytest.fixture
def renamed(desk: Desk) -> Desk:
    desk.backup()
    desk.write("work/unsaved", "precious")
    desk.work.rename(desk.scratch / "thesis")
    desk.write("conda/x")
    return desk


def _note(desk: Desk) -> Base:
    note = noted_base(desk.context.workspace)
    assert note is not None
    return note


def test_it_is_found_by_its_number_and_its_names(renamed: Desk) -> None:
    assert renamed_to(renamed.context) == renamed.scratch / "thesis"
    (renamed.scratch / "thesis").rename(renamed.work)
    assert renamed_to(renamed.context) is None


def test_another_directory_that_was_given_the_number_is_not_taken_for_it(renamed: Desk) -> None:
    rmtree(renamed.scratch / "thesis")
    other = renamed.scratch / "conda"
    note = msgspec.structs.replace(_note(renamed), inode=other.stat().st_ino)
    (renamed.context.workspace.state / "base.json").write_bytes(msgspec.json.encode(note))
    assert renamed_to(renamed.context) is None
    (other / "README").write_text("a name that the workspace had, too")
    assert renamed_to(renamed.context) == other


def test_a_note_of_an_earlier_version_says_nothing(renamed: Desk) -> None:
    note = msgspec.structs.replace(_note(renamed), inode=0)
    (renamed.context.workspace.state / "base.json").write_bytes(msgspec.json.encode(note))
    assert renamed_to(renamed.context) is None
    saved = save_node(renamed.context, renamed.notify, SaveNode(message="before clear"))
    maybe = "(`work`, which it may be, is gone)"
    assert sorted(saved.unsaved_paths) == [f"conda {maybe}", f"thesis {maybe}"]


def test_up_does_not_put_an_older_state_in_its_place(renamed: Desk) -> None:
    with pytest.raises(WorkspaceRenamed) as refused:
        settle(renamed.context, renamed.notify, Settle())
    thesis = renamed.scratch / "thesis"
    assert f"mv {thesis} {renamed.work}`" in refused.value.shown_hint
    assert not renamed.work.exists()
    renamed.restore()  # whoever asks for it gets it
    assert (thesis / "unsaved").read_text() == "precious"
    assert settle(renamed.context, renamed.notify, Settle()).action == "nothing"


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
