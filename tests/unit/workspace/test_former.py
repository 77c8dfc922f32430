"""Which directories were the workspace before: known by their number, whatever they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.workspace.former import Former, beside, note_former, number_of, read_former
from scratchflow.workspace.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "work").mkdir()
    return Workspace(tmp_path, "work")


def _rename(workspace: Workspace, name: str) -> Former:
    """Renames it, makes another one, and notes the first one."""
    former = Former(number_of(workspace.path), name)
    workspace.path.rename(workspace.scratch / name)
    workspace.path.mkdir()
    note_former(workspace, former)
    return former


def test_one_that_has_another_name_is_noted_until_it_is_gone(workspace: Workspace) -> None:
    first = _rename(workspace, "thesis")
    second = _rename(workspace, "paper")
    assert read_former(workspace) == [first, second]
    (workspace.scratch / "thesis").rename(workspace.scratch / "other")
    found = beside(workspace, read_former(workspace))
    assert {one.snapshot: path.name for one, path in found.items()} == {
        "thesis": "other",
        "paper": "paper",
    }
    (workspace.scratch / "paper").rmdir()
    third = _rename(workspace, "third")
    assert read_former(workspace) == [first, third]


def test_one_that_is_in_its_place_or_gone_or_has_no_number_is_not_noted(
    workspace: Workspace,
) -> None:
    note_former(workspace, Former(number_of(workspace.path), "a"))
    note_former(workspace, Former(0, "b"))
    note_former(workspace, Former(1 << 60, "c"))
    assert read_former(workspace) == []
    assert not (workspace.state / "former.json").exists()


def test_one_that_got_its_name_back_is_not_beside(workspace: Workspace) -> None:
    first = _rename(workspace, "thesis")
    workspace.path.rmdir()
    (workspace.scratch / "thesis").rename(workspace.path)
    assert beside(workspace, [first]) == {}


def test_one_that_a_symlink_in_its_place_leads_to_is_the_workspace(workspace: Workspace) -> None:
    first = _rename(workspace, "thesis")
    workspace.path.rmdir()
    workspace.path.symlink_to("thesis")
    assert beside(workspace, [first]) == {}


@pytest.mark.parametrize("name", ["work.before-1a2b", ".hidden"])
def test_what_a_restore_puts_beside_is_its_own_affair(workspace: Workspace, name: str) -> None:
    _rename(workspace, name)
    assert read_former(workspace) == []


def test_a_note_that_cannot_be_understood_is_none(workspace: Workspace) -> None:
    workspace.state.mkdir(parents=True)
    (workspace.state / "former.json").write_text("{}")
    assert read_former(workspace) == []
    first = _rename(workspace, "thesis")
    assert read_former(workspace) == [first]
