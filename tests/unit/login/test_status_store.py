"""Workspace, snapshots and auto-backup as the store tells them to `status`."""

from __future__ import annotations

import time

import msgspec

from scratchflow.cli.status import shown
from scratchflow.model.times import iso_time
from scratchflow.model.units import Duration
from scratchflow.node.autobackup.settings import settings_digest
from scratchflow.store.checks.verified import Verification, record_verified
from tests.unit.login.test_status import Login


def test_the_auto_backup_of_one_machine_is_on_without_a_session(login: Login) -> None:
    login.beat()
    assert login.look().autobackup.enabled
    assert login.problems() == []
    login.beat(phase="ended")
    assert not login.look().autobackup.enabled


def test_a_workspace_that_was_deleted_on_the_node_is_said_to_be_gone(held: Login) -> None:
    held.beat(workspace_exists=True)
    seen = held.look()
    assert (seen.workspace.exists, seen.workspace.base_snapshot) == (True, held.desk.ids[-1])
    held.beat(workspace_exists=False)
    seen = held.look()
    assert (seen.workspace.exists, seen.workspace.base_snapshot) == (False, None)
    assert [problem.name for problem in seen.problems] == ["workspace.missing"]
    assert "from snapshot" not in "\n".join(shown(seen))


def test_without_an_auto_backup_the_record_says_how_old_it_is(held: Login) -> None:
    assert held.look().workspace.seen_time is not None


def test_the_oldest_check_is_shown(login: Login) -> None:
    (snapshot,) = login.desk.ids
    days_ago = iso_time(time.time() - 4 * 86400 - 60) or ""
    record_verified(login.place, [Verification(snapshot=snapshot, time=days_ago)])
    assert "oldest check: 4d ago" in "\n".join(shown(login.look()))


def test_an_interval_for_one_start_is_not_called_a_change_of_settings(held: Login) -> None:
    held.beat(every_s=1, workspace_exists=True)
    backup = msgspec.structs.replace(held.settings.profile.backup, every=Duration(1))
    once = msgspec.structs.replace(held.settings.profile, backup=backup)
    assert settings_digest(once) == settings_digest(held.settings.profile)
    assert held.problems() == []
