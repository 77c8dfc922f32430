"""An empty workspace that was saved with what lies beside it: it can be filled, and nothing is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from scratchflow.model.errors.workspace import WorkspaceKnown
from scratchflow.model.requests import Create
from scratchflow.node.create import create, ready_to_receive
from tests.unit.conftest import Desk, make_desk
from tests.unit.node.bring.conftest import bring, packed, receiving

PYTHON = random.Random(1).randbytes(300_000)  # noqa: S311 - large enough for an increment


@pytest.fixture
def beside(tmp_path: Path) -> Desk:
    """A desk with an empty workspace that `up` has saved, and an environment beside it that is saved with it."""
    desk = make_desk(tmp_path, 'backup.also = ["env", "none"]\n')
    desk.write("env/bin/python", PYTHON)
    create(desk.context, desk.notify, Create())
    desk.write("env/bin/pip", "later")
    assert desk.backup().kind == "incremental"
    return desk


@pytest.mark.parametrize("source", ["directory", "stream", "clone"])
def test_a_workspace_is_empty_whatever_is_saved_beside_it(
    beside: Desk, repository: Path, source: str
) -> None:
    saved = beside.ids
    if source == "stream":
        ready = ready_to_receive(beside.context, beside.notify, Create())
        sent = packed(repository, snapshot=ready.snapshot)
        created = bring(receiving(beside, sent), receives=ready.snapshot)
    elif source == "clone":
        created = bring(beside, url=f"file://{repository}")
    else:
        created = bring(beside, directory=str(repository))
    assert (beside.work / "file").read_text() == "committed"
    assert beside.ids[:2] == saved
    assert beside.ids[-1] == created.snapshot
    assert beside.backup().kind == "unchanged"
    elsewhere = beside.scratch.parent / "elsewhere"
    beside.restore(to=elsewhere)
    assert (elsewhere / "work/file").read_text() == "committed"
    assert (elsewhere / "env/bin/python").read_bytes() == PYTHON
    with pytest.raises(WorkspaceKnown):
        ready_to_receive(beside.context, beside.notify, Create())


def test_one_file_in_any_snapshot_or_one_that_cannot_be_read_keeps_a_workspace_from_being_filled(
    beside: Desk, repository: Path
) -> None:
    first = beside.place.archive(beside.ids[0])
    content = first.read_bytes()
    first.write_bytes(bytes(len(content)))
    with pytest.raises(WorkspaceKnown):
        bring(beside, directory=str(repository))
    first.write_bytes(content)
    (beside.work / "link").symlink_to("nowhere")
    beside.backup()
    (beside.work / "link").unlink()
    beside.backup()
    with pytest.raises(WorkspaceKnown):
        bring(beside, directory=str(repository))
