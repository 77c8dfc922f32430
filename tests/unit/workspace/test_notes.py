"""Notes beside the workspace: a wrong one costs time, and a restore under way is never overlooked."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from scratchflow.workspace.notes import (
    UNKNOWN,
    Restoring,
    begin_restoring,
    cache_path,
    end_restoring,
    forget_base,
    known_workspaces,
    noted_base,
    read_base,
    read_base_note,
    read_restoring,
    write_base,
)
from scratchflow.workspace.workspace import Workspace

ID = "20261115T093000Z-abcdef"
STORE = Path("/shared/store")
RUBBISH = [
    b"",
    b"{",
    b"[]",
    b"\xff\xfe",
    b'{"snapshot": 7}',
    b'{"snapshot": "../x", "store": "/x"}',
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "scratch", "team/work")


def _damage(workspace: Workspace, name: str, content: bytes) -> None:
    workspace.state.mkdir(parents=True, exist_ok=True)
    (workspace.state / name).write_bytes(content)


def test_the_base_is_noted_for_one_store(workspace: Workspace) -> None:
    assert read_base(workspace, STORE) is None
    write_base(workspace, STORE, ID, "c0ffee")
    assert read_base(workspace, STORE) == ID
    note = read_base_note(workspace, STORE)
    assert note
    assert note.store_id == "c0ffee"
    assert read_base(workspace, Path("/other")) is None
    assert noted_base(workspace) == note


def test_notes_are_closed_to_others(workspace: Workspace) -> None:
    write_base(workspace, STORE, ID)
    assert stat.S_IMODE((workspace.state / "base.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", RUBBISH)
def test_a_damaged_base_is_none(workspace: Workspace, content: bytes) -> None:
    _damage(workspace, "base.json", content)
    assert read_base(workspace, STORE) is None
    assert noted_base(workspace) is None


def test_a_forgotten_base_takes_its_cache_along(workspace: Workspace) -> None:
    forget_base(workspace)  # nothing there is nothing to do
    write_base(workspace, STORE, ID)
    cache_path(workspace).write_bytes(b"cache")
    forget_base(workspace)
    assert read_base(workspace, STORE) is None
    assert not cache_path(workspace).exists()


def test_a_restore_is_noted_until_it_ends(workspace: Workspace) -> None:
    assert read_restoring(workspace) is None
    end_restoring(workspace)
    begin_restoring(workspace, Restoring(snapshot=ID, mode="full"))
    assert read_restoring(workspace) == Restoring(snapshot=ID, mode="full")
    end_restoring(workspace)
    assert read_restoring(workspace) is None


@pytest.mark.parametrize(
    "content", [*RUBBISH, b'{"snapshot": "' + ID.encode() + b'", "mode": "of a later version"}']
)
def test_a_damaged_note_of_a_restore_is_still_one(workspace: Workspace, content: bytes) -> None:
    _damage(workspace, "restoring.json", content)
    assert read_restoring(workspace) == Restoring(snapshot=UNKNOWN, mode="delta")


def test_a_snapshot_that_is_no_id_never_becomes_a_path(workspace: Workspace) -> None:
    _damage(workspace, "restoring.json", b'{"snapshot": "../../x", "mode": "full"}')
    assert read_restoring(workspace) == Restoring(snapshot=UNKNOWN, mode="full")


def test_all_workspaces_with_notes_are_known_by_their_names(tmp_path: Path) -> None:
    for name in ("work", "team/a", "team"):
        write_base(Workspace(tmp_path, name), STORE, ID)
    begin_restoring(Workspace(tmp_path, "half"), Restoring(snapshot=ID, mode="full"))
    state = Workspace(tmp_path, "work").state
    (state / "incoming-1234/base").mkdir(parents=True)
    (state / "incoming-1234/base.json").write_text("a file of the restored tree")
    (state.parent / "empty").mkdir()
    (state.parent / "link").symlink_to("work")
    assert known_workspaces(tmp_path) == ["half", "team", "team/a", "work"]
    assert known_workspaces(tmp_path / "missing") == []
