"""Other workspaces of ours on the same scratch: which they are, and how each is saved."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.node.other_workspaces import (
    WorkspaceUnknown,
    as_known,
    is_old_copy,
    other_workspaces,
)
from tests.unit.conftest import Desk


def second(desk: Desk, name: str = "p2") -> Desk:
    """The same machine with `--set workspace=NAME`."""
    profile = msgspec.structs.replace(desk.context.profile, workspace=name)
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    workspace = msgspec.structs.replace(desk.context.workspace, name=name)
    return Desk(msgspec.structs.replace(desk.context, settings=settings, workspace=workspace))


def test_a_second_workspace_is_another_one_as_soon_as_it_has_a_snapshot(desk: Desk) -> None:
    desk.backup()
    other = second(desk)
    other.write("p2/file")
    assert other_workspaces(desk.context) == []
    other.backup()
    assert other_workspaces(desk.context) == ["p2"]
    assert other_workspaces(other.context) == ["work"]


def test_one_that_is_saved_with_the_profiles_own_is_no_other(desk: Desk) -> None:
    other = second(desk)
    other.write("p2/file")
    other.backup()
    workspace = msgspec.structs.replace(desk.context.workspace, also=("p2",))
    assert other_workspaces(msgspec.structs.replace(desk.context, workspace=workspace)) == []


def test_it_is_known_which_profile_saved_it_last(desk: Desk) -> None:
    other = second(desk)
    other.write("p2/file")
    other.backup()
    assert as_known(desk.context, "p2").settings.name == "test"
    renamed = msgspec.structs.replace(other.context.settings, name="gpu")
    Desk(msgspec.structs.replace(other.context, settings=renamed)).backup()
    there = as_known(desk.context, "p2")
    assert (there.settings.name, there.workspace.path) == ("gpu", desk.scratch / "p2")
    assert there.store == desk.context.store


def test_without_its_snapshot_it_is_not_known_how_to_save_it(desk: Desk) -> None:
    other = second(desk)
    other.write("p2/file")
    snapshot = other.backup().snapshot
    (other.place.directory / f"{snapshot}.json").unlink()
    with pytest.raises(WorkspaceUnknown):
        as_known(desk.context, "p2")


def test_a_copy_is_old_when_work_went_on_elsewhere(desk: Desk) -> None:
    def on(node: str, job_id: int) -> Desk:
        return Desk(msgspec.structs.replace(desk.context, node=node, job_id=job_id))

    on("node-1", 1).backup()
    assert not is_old_copy(on("node-1", 3).context)
    desk.write("work/more")
    note = desk.context.workspace.state / "base.json"
    before = note.read_bytes()
    on("node-2", 2).backup()
    note.write_bytes(before)  # as the disk of the first node still is
    assert is_old_copy(on("node-1", 3).context)
    assert not is_old_copy(on("node-1", 1).context)
