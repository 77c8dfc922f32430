"""`clear` on one machine: what cannot be saved ends nothing, and its own error says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.flows.clear.clear import ClearOptions, clear_on
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.errors.workspace import UnsavedAtFormerScratch, WorkspaceMissing
from scratchflow.model.events import Log
from scratchflow.model.results.allocation import Cleared
from scratchflow.model.results.backup import AutobackupSwitched, BackupTaken
from scratchflow.model.results.serve import ServersStopped
from tests.unit.flows.told import ToldCluster

OFF = AutobackupSwitched(enabled=False, changed=True, node=None, every_s=1800)
ENDED = ["autobackup off", "server stop"]


def cluster_with(tmp_path: Path, backup: Any) -> ToldCluster:
    return ToldCluster(
        tmp_path,
        {"backup": backup, "autobackup off": OFF, "server stop": ServersStopped()},
        profile='scheduler = "none"',
        environment={"PATH": "", "HOME": str(tmp_path)},
    )


def clear(cluster: ToldCluster, **options: bool) -> Cleared:
    return clear_on(cluster, ClearOptions(**options))


def test_a_backup_that_fails_ends_nothing_and_keeps_its_own_words(tmp_path: Path) -> None:
    full = NoSpace(path="/store", reason="no space")
    hint = full.shown_hint
    cluster = cluster_with(tmp_path, full)
    with pytest.raises(NoSpace) as caught:
        clear(cluster)
    assert caught.value.shown_hint.startswith(hint)
    assert "`scratchflow clear --no-backup`" in caught.value.shown_hint
    assert "node" not in str(caught.value)
    assert cluster.done == ["backup"]


def test_what_is_unsaved_elsewhere_is_not_to_be_given_up(tmp_path: Path) -> None:
    elsewhere = UnsavedAtFormerScratch.of("/a/work", "work", "/b/work")
    with pytest.raises(UnsavedAtFormerScratch) as caught:
        clear(cluster_with(tmp_path, elsewhere))
    assert "--no-backup" not in caught.value.shown_hint


@pytest.mark.parametrize("dry_run", [False, True])
def test_without_a_workspace_there_is_nothing_to_save(tmp_path: Path, dry_run: bool) -> None:
    cluster = cluster_with(tmp_path, WorkspaceMissing(path="/s/work"))
    done = clear(cluster, dry_run=dry_run)
    assert (done.snapshot, done.dry_run) == (None, dry_run)
    assert cluster.done == ["backup"] if dry_run else ["backup", *ENDED]


def test_without_a_backup_none_is_taken(tmp_path: Path) -> None:
    cluster = cluster_with(tmp_path, NoSpace(path="/store", reason="no space"))
    assert clear(cluster, backup=False).snapshot is None
    assert cluster.done == ENDED


def test_a_dry_run_says_what_the_last_backup_would_store(tmp_path: Path) -> None:
    seen = BackupTaken(
        snapshot=None,
        kind="incremental",
        parent=None,
        files=5,
        bytes=9000,
        changed_files=2,
        changed_bytes=2048,
        stored_bytes=0,
        duration_s=0.1,
    )
    cluster = cluster_with(tmp_path, seen)
    assert clear(cluster, dry_run=True).commands == ["scratchflow backup"]
    (said,) = [one.message for one in cluster.told if isinstance(one, Log)]
    assert said.startswith("the last backup would save the workspace: 2 files (2.00 KiB) changed")
    assert cluster.done == ["backup"]
    same = msgspec.structs.replace(seen, snapshot="20261119T083418Z-a04bad", kind="unchanged")
    cluster = cluster_with(tmp_path, same)
    clear(cluster, dry_run=True)
    (said,) = [one.message for one in cluster.told if isinstance(one, Log)]
    assert said == "nothing changed since snapshot 20261119T083418Z-a04bad"
