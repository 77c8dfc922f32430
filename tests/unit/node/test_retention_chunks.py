"""An archive stays as long as any snapshot reads a chunk of a large file from it."""

from __future__ import annotations

import os

import pytest

from scratchflow.disk.trees import remove_tree
from scratchflow.model.requests import Prune
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.retention import prune_snapshots
from scratchflow.store.catalogue import read_catalogue
from tests.unit.conftest import Desk


def _save(desk: Desk, content: bytes) -> str:
    desk.write("work/large", content)
    return desk.backup().snapshot or ""


@pytest.mark.slow
def test_archives_with_live_chunks_stay_when_their_snapshots_go(desk: Desk) -> None:
    parts = [os.urandom(9 << 20)]
    first = _save(desk, parts[0])
    desk.write("work/README", "other, so that nothing but chunks of the first is needed")
    parts.append(os.urandom(1 << 20))
    second = _save(desk, b"".join(parts))
    parts.append(os.urandom(1 << 20))
    third = _save(desk, b"".join(parts))
    assert read_catalogue(desk.place).snapshots[-1].needs == [first, second]
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first, second)))
    assert desk.ids == [third]
    assert desk.place.archive(first).exists()
    assert verify_snapshots(desk.context, desk.notify, []).bad == []
    desk.restore(third, to=desk.scratch / "out")
    assert (desk.scratch / "out/work/large").read_bytes() == b"".join(parts)


@pytest.mark.slow
def test_archives_whose_chunks_nothing_reads_any_more_go(desk: Desk) -> None:
    first = _save(desk, os.urandom(9 << 20))
    content = os.urandom(9 << 20)
    for path in list(desk.work.iterdir()):
        if path.name != "large":
            remove_tree(path) if path.is_dir() else path.unlink()
    second = desk.backup(allow_shrink=True).snapshot or ""
    third = _save(desk, content)
    assert first in desk.ids
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first, second)))
    assert desk.ids == [third]
    assert not desk.place.archive(first).exists()
    desk.restore(third, to=desk.scratch / "out")
    assert (desk.scratch / "out/work/large").read_bytes() == content
