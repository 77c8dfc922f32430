"""A restore that was interrupted, and whose snapshot was pruned since: what is said, and the ways out."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.model.errors.restore import RestoreIncomplete, RestoreUnfinishable
from scratchflow.workspace.notes import Restoring, begin_restoring, read_restoring
from tests.unit.conftest import Desk


def half_restored(desk: Desk) -> str:
    """The snapshot that cannot be brought any more; a newer one is there."""
    gone = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.backup(full=True)
    begin_restoring(desk.context.workspace, Restoring(snapshot=gone, mode="delta"))
    desk.write("work/README", "half")
    desk.place.manifest(gone).unlink()
    return gone


def test_every_command_says_that_it_is_gone_and_names_abandon(desk: Desk) -> None:
    gone = half_restored(desk)
    for command in (desk.restore, desk.backup, lambda: desk.restore("latest", paths=("work",))):
        with pytest.raises(RestoreUnfinishable, match="does not have that snapshot") as caught:
            command()
        assert gone in str(caught.value)
        assert "`scratchflow restore --abandon`" in caught.value.shown_hint
        assert caught.value.exit_code == 37
    assert (desk.work / "README").read_text() == "half"


def test_both_ways_out_work(desk: Desk, tmp_path: Path) -> None:
    half_restored(desk)
    desk.restore(desk.ids[-1])
    assert (desk.work / "README").read_text() == "second"
    half_restored(desk)
    saved = desk.restore(abandon=True).safety_snapshot
    assert read_restoring(desk.context.workspace) is None
    desk.restore(str(saved), to=tmp_path / "saved")
    assert (tmp_path / "saved/work/README").read_text() == "half"


def test_a_store_that_is_away_does_not_make_it_gone(desk: Desk) -> None:
    half_restored(desk)
    desk.place.directory.rename(desk.context.store / "away")
    with pytest.raises(RestoreIncomplete) as caught:
        desk.backup()
    assert not isinstance(caught.value, RestoreUnfinishable)
