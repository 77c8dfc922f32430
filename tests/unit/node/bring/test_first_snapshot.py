"""What a laptop sends becomes the first snapshot whole, or nothing of it stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.requests import Create
from scratchflow.node.create import ready_to_receive
from scratchflow.node.history.verification import verify_snapshots
from tests.odd_tree import tree_digest
from tests.unit.conftest import Desk
from tests.unit.node.bring.conftest import ID, bring, left_behind, packed, receiving


@pytest.mark.slow
def test_an_archive_that_is_sent_becomes_the_first_snapshot(empty: Desk, project: Path) -> None:
    ready = ready_to_receive(empty.context, empty.notify, Create())
    assert (ready.workspace, ready.path) == ("work", str(empty.work))
    desk = receiving(empty, packed(project, snapshot=ready.snapshot))
    created = bring(desk, receives=ready.snapshot, named="laptop:project")
    assert (created.snapshot, created.source) == (ready.snapshot, "laptop:project")
    assert tree_digest(empty.work) == tree_digest(project)
    assert verify_snapshots(empty.context, empty.notify, []).bad == []


def test_one_that_breaks_off_leaves_nothing(empty: Desk, project: Path) -> None:
    def cut() -> Iterator[bytes]:
        yield packed(project)[0]
        raise StreamBroken(reason="it ended too early")

    with pytest.raises(StreamBroken):
        bring(receiving(empty, cut()), receives=ID)
    assert left_behind(empty) == []
    assert empty.ids == []


@pytest.mark.parametrize(
    ("name", "snapshot"), [("other", ID), ("work/deeper", ID), ("work", "20261115T093000Z-ffffff")]
)
def test_an_archive_of_something_else_is_refused(
    empty: Desk, project: Path, name: str, snapshot: str
) -> None:
    with pytest.raises(SnapshotDamaged, match="not the archive of this workspace"):
        bring(receiving(empty, packed(project, name, snapshot)), receives=ID)
    assert left_behind(empty) == []


def test_bytes_that_are_no_archive_are_refused(empty: Desk) -> None:
    for content in (b"", b"x", os.urandom(100_000)):
        with pytest.raises(ScratchflowError):
            bring(receiving(empty, [content]), receives=ID)
        assert left_behind(empty) == []
    with pytest.raises(StreamBroken):
        bring(receiving(empty, []), receives="../../etc/x")
