"""The login host tells by the node's record that a job has its workspace elsewhere than the profile says now."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.login.host import LoginHost
from scratchflow.login.status.former_scratch import (
    is_of_other_place,
    left_at_former_scratch,
    workspace_at_former_scratch,
)
from scratchflow.model.allocation import RunningAllocation, ThisMachine
from scratchflow.store.nodes import NodeRecord
from scratchflow.workspace.notes import write_base
from scratchflow.workspace.workspace import Workspace

HELD = RunningAllocation(job_id=7, name="sf-a", state="running", nodes=("node-1",))
RECORD = NodeRecord(
    node="node-1",
    snapshot="20260101T000000Z-000000",
    workspace_path="/scratch/ada/work",
    job_id=7,
    job_name="sf-a",
    time="2026-01-01T00:00:00Z",
)


def login(scratch: str) -> LoginHost:
    settings = load_settings(Asked(), {})
    profile = msgspec.structs.replace(settings.profile, scheduler="slurm", scratch=scratch)
    return LoginHost(msgspec.structs.replace(settings, profile=profile), {}, lambda _: None)


def test_the_former_place_is_named_with_the_way_back() -> None:
    found = workspace_at_former_scratch(login("/scratch/ada/other"), HELD, [RECORD])
    assert found is not None
    assert "`/scratch/ada/work`, and the profile says `/scratch/ada/other/work`" in str(found)
    assert "`scratchflow config set scratch /scratch/ada`" in found.shown_hint


@pytest.mark.parametrize(
    ("scratch", "changed"),
    [
        ("/scratch/ada", {}),
        ("/other", {"job_id": 6}),
        ("/other", {"job_name": "sf-b"}),
        ("/other", {"node": "node-2"}),
        ("$JOB_SCRATCH/ada", {}),
    ],
)
def test_not_for_the_same_place_another_job_or_one_that_only_the_node_knows(
    scratch: str, changed: dict[str, object]
) -> None:
    record = msgspec.structs.replace(RECORD, **changed)
    assert workspace_at_former_scratch(login(scratch), HELD, [record]) is None
    assert workspace_at_former_scratch(login(scratch), None, [record]) is None


def test_without_a_cluster_the_workspace_at_the_former_place_is_named(tmp_path: Path) -> None:
    former = Workspace(tmp_path / "former", "work")
    record = msgspec.structs.replace(RECORD, workspace_path=str(former.path), job_id=None)
    here, on = ThisMachine(name="", nodes=("node-1",)), login(str(tmp_path / "now"))
    assert list(left_at_former_scratch(on, here, [record])) == []  # nothing is there
    former.path.mkdir(parents=True)
    (former.path / "file").touch()
    write_base(former, tmp_path / "store", RECORD.snapshot, profile=on.settings.name)
    (problem,) = left_at_former_scratch(on, here, [record])
    assert f"`{former.path}`" in problem.detail
    assert f"--set scratch={former.scratch} backup`" in problem.fix
    assert list(left_at_former_scratch(login(str(former.scratch)), here, [record])) == []
    assert list(left_at_former_scratch(on, HELD, [record])) == []
    write_base(former, tmp_path / "store", RECORD.snapshot, profile="another")
    assert list(left_at_former_scratch(on, here, [record])) == []


@pytest.mark.parametrize(
    ("scratch", "is_other"),
    [("/scratch/ada", False), ("/other", True), ("$JOB_SCRATCH", False), ("~ada", False)],
)
def test_a_copy_is_elsewhere_only_where_its_path_is_known_to_differ(
    scratch: str, *, is_other: bool
) -> None:
    assert is_of_other_place(RECORD, Workspace(Path(scratch), "work")) == is_other
