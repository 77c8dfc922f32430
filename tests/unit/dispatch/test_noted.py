"""What later commands complete: each result adds its part, and what was only tried adds nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.config.remembered import recall
from scratchflow.config.settings import Settings
from scratchflow.dispatch.noted import note
from scratchflow.model.results.allocation import NodeHeld, NodesShown
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.results.jobs import JobPruned, JobShown, JobsListed, JobsPruned, Submitted
from scratchflow.model.results.snapshots import SnapshotsPruned
from scratchflow.model.results.status import RecentSnapshot
from tests.unit.cli.test_nodes import row
from tests.unit.flows.told import ToldCluster, seen

FIRST, SECOND = "20261115T093000Z-3f2a9c", "20261116T093000Z-aaaaaa"
THIRD = "20261117T093000Z-bbbbbb"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    profile = 'login = "aws"\n[profiles.p.slurm]\ngpus = 2'
    return ToldCluster(tmp_path, {}, profile=profile).settings


def backup(snapshot: str, **fields: Any) -> BackupTaken:
    numbers: dict[str, Any] = dict.fromkeys(
        ("files", "bytes", "changed_files", "changed_bytes", "stored_bytes"), 1
    )
    return BackupTaken(
        snapshot=snapshot, kind="full", parent=None, duration_s=1.0, **numbers, **fields
    )


def held(**fields: Any) -> NodeHeld:
    usual: dict[str, Any] = {"reused": False, "end_time": None, "warm": None, "session": None}
    return NodeHeld(
        job_id=7, node="n", partition="dev", user="ada", host_keys=[], **{**usual, **fields}
    )


def test_nodes_and_each_partition_once(settings: Settings) -> None:
    note(settings, NodesShown(nodes=[row("n1", "dev", "gpu"), row("n2", "dev")]))
    known = recall("p")
    assert (known.nodes, known.partitions) == (("n1", "n2"), ("dev", "gpu"))


def test_snapshots_are_in_the_order_of_time_and_removed_ones_go(settings: Settings) -> None:
    note(settings, backup(SECOND))
    shown = seen()
    recent = [RecentSnapshot(id=FIRST, time="", kind="full", stored_bytes=1)]
    snapshots = msgspec.structs.replace(shown.snapshots, recent=recent)
    note(settings, msgspec.structs.replace(shown, snapshots=snapshots))
    assert recall("p").snapshots == (FIRST, SECOND)
    note(settings, backup(THIRD, pruned=[FIRST]))
    assert recall("p").snapshots == (SECOND, THIRD)


def test_what_was_only_tried_is_no_news(settings: Settings) -> None:
    note(settings, backup(FIRST, dry_run=True))
    note(settings, held(dry_run=True))
    note(settings, held(reused=True))
    assert (recall("p").snapshots, recall("p").slurm) == ((), None)


def test_the_request_for_a_node_is_the_one_that_was_made(settings: Settings) -> None:
    note(settings, held())
    slurm = recall("p").slurm
    assert slurm
    assert slurm["gpus"] == 2


def listed(*numbers: int | None) -> JobsListed:
    texts: dict[str, Any] = dict.fromkeys(
        ("job", "name", "state", "time", "snapshot", "directory", "profile"), "x"
    )
    return JobsListed(jobs=[JobShown(number=number, command=[], **texts) for number in numbers])


def test_jobs_are_known_once_listed_or_submitted_the_newest_last(settings: Settings) -> None:
    note(settings, listed(41, None, 42))
    one = Submitted(job="j", number=43, name="n", tasks=2, snapshot="s", more=[44])
    note(settings, one)
    note(settings, msgspec.structs.replace(one, number=50, more=[], dry_run=True))
    assert recall("p").jobs == ("41", "42", "43", "44")
    note(settings, listed(42))
    assert recall("p").jobs == ("41", "43", "44", "42")


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_was_pruned_is_not_offered_any_more(settings: Settings, dry_run: bool) -> None:
    note(settings, backup(FIRST))
    note(settings, backup(SECOND))
    pruned = SnapshotsPruned(kept={}, removed=[FIRST], freed_bytes=1, blocked=None, dry_run=dry_run)
    note(settings, pruned)
    note(settings, Submitted(job="a", number=7, name="n", tasks=1, snapshot=SECOND, more=[8]))
    gone = JobPruned(job="a", number=7, name="n", time="")
    note(settings, JobsPruned(removed=[gone], dry_run=dry_run))
    known = recall("p")
    assert known.snapshots == ((FIRST, SECOND) if dry_run else (SECOND,))
    assert known.jobs == (("7", "8") if dry_run else ("8",))
