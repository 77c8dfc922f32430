"""The words of `autobackup status` and `autobackup on`."""

from __future__ import annotations

import msgspec

from scratchflow.cli.autobackup import _shown, _switched
from scratchflow.model.ages import at
from scratchflow.model.results.backup import AutobackupShown, AutobackupStatus, AutobackupSwitched


def test_the_last_backup_is_told_as_the_auto_backups_own() -> None:
    taken = "2026-11-16T17:53:00Z"
    shown = AutobackupShown(enabled=True, every_s=1800, last_time=taken)
    lines = list(_shown(AutobackupStatus(node="node-1", autobackup=shown)))
    # A `backup` by hand may be younger.
    assert f"last automatic snapshot at {at(taken)}, next unknown" in lines


def test_no_next_backup_is_promised_where_there_is_no_workspace() -> None:
    soon = "2026-11-16T18:00:00Z"
    on = AutobackupSwitched(enabled=True, changed=True, node="n", every_s=1800, next_time=soon)
    (line,) = _switched(on)
    assert line.endswith(f"next at {at(soon)}")
    (line,) = _switched(msgspec.structs.replace(on, workspace_exists=False))
    assert "next at" not in line
    assert "once there is a workspace: `scratchflow up`" in line
