"""The words of `autobackup status`."""

from __future__ import annotations

from scratchflow.cli.autobackup import _shown
from scratchflow.model.ages import at
from scratchflow.model.results.backup import AutobackupShown, AutobackupStatus


def test_the_last_backup_is_told_as_the_auto_backups_own() -> None:
    taken = "2026-11-16T17:53:00Z"
    shown = AutobackupShown(enabled=True, every_s=1800, last_time=taken)
    lines = list(_shown(AutobackupStatus(node="node-1", autobackup=shown)))
    # A `backup` by hand may be younger.
    assert f"last automatic snapshot at {at(taken)}, next unknown" in lines
