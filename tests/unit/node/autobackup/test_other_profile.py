"""A workspace is not brought to a node where another profile's auto-backup has its name in the same store."""

from __future__ import annotations

import os
import time

import msgspec
import pytest

from scratchflow.model.errors.workspace import AutobackupOfOther
from scratchflow.model.requests import Settle
from scratchflow.model.times import iso_time
from scratchflow.node.autobackup import other_profile as module
from scratchflow.node.autobackup.settings import settings_digest
from scratchflow.node.settle import settle
from scratchflow.store.heartbeats import Heartbeat, beat, prepare
from tests.unit.conftest import Desk

OTHERS = "scratchflow:login:01234567"


@pytest.mark.parametrize(
    ("fields", "runs", "is_refused"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"phase": "ended"}, True, False),
        ({"time": iso_time(time.time() - 9999)}, True, False),
        ({"job_id": 7}, True, False),
        ({"job_name": ""}, True, False),
        ({"settings": "same"}, True, False),
    ],
)
def test_the_workspace_is_not_restored_beside_a_living_loop_with_other_settings(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    fields: dict[str, object],
    runs: bool,
    is_refused: bool,
) -> None:
    desk.backup()
    context = msgspec.structs.replace(desk.context, job_id=7)
    if fields.get("settings") == "same":
        monkeypatch.setattr(module, "saves_the_same", lambda _, loop: loop == "same")
    life = Heartbeat(
        node=context.node,
        job_id=8,
        step_id=1,
        pid=os.getpid(),
        token="t",  # noqa: S106 - no secret
        every_s=1800,
        phase="waiting",
        time=iso_time(time.time()) or "",
        job_name=OTHERS,
        settings=f"not {settings_digest(context.profile)}",
    )
    prepare(desk.place)
    beat(desk.place, msgspec.structs.replace(life, **fields))
    monkeypatch.setattr(module, "is_agent", lambda _: runs)
    if not is_refused:
        assert settle(context, desk.notify, Settle()).snapshot == desk.ids[-1]
        return
    with pytest.raises(AutobackupOfOther) as caught:
        settle(context, desk.notify, Settle())
    assert "profile `login` (job 8)" in str(caught.value)
    assert desk.warnings == []
