"""Workspace, snapshots and auto-backup as the store tells them to `status`."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.cli.status_lines import shown
from scratchflow.login.status import status as looking
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.model.times import iso_time
from scratchflow.model.units import Duration
from scratchflow.node.autobackup.settings import settings_digest
from scratchflow.store.checks.verified import Verification, record_verified
from scratchflow.store.heartbeats import OtherWorkspace
from scratchflow.store.identity import ensure_store_id
from scratchflow.store.known import note_store
from scratchflow.store.nodes import read_nodes, record_node
from scratchflow.testing.store import make_id
from tests.unit.login.status.test_status import JOB, Login, with_layers


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


def test_a_workspace_that_is_a_symlink_on_the_node_is_a_problem(held: Login) -> None:
    held.beat(workspace_exists=True, workspace_link="/scratch/u/work")
    (problem,) = held.look().problems
    assert problem.name == "workspace.link"
    assert "`/scratch/u/work` is a symlink" in problem.detail
    held.beat(workspace_exists=True)
    assert held.problems() == []


def test_an_environment_that_is_not_on_the_node_is_a_problem_until_it_is_there_or_unset(
    held: Login,
) -> None:
    plain = held.settings
    held.settings = with_layers(plain, EnvironmentOptions(venv="env"))
    held.beat(workspace_exists=True, missing_layer="venv", missing_path="env")
    (problem,) = held.look().problems
    assert problem.name == "environment.missing"
    assert "`scratchflow create --env venv --packages …`" in problem.fix
    held.beat(workspace_exists=True)
    assert held.problems() == []
    held.settings = plain
    held.beat(workspace_exists=True, missing_layer="venv", missing_path="env")
    assert held.problems() == []


def test_an_environment_that_is_not_here_is_a_problem(login: Login) -> None:
    login.settings = with_layers(login.settings, EnvironmentOptions(venv="env"))
    assert login.problems() == ["environment.missing"]
    login.desk.write("env/bin/activate")
    assert login.problems() == []


def test_a_workspace_that_is_a_symlink_here_is_a_problem(login: Login) -> None:
    work = login.desk.work
    work.symlink_to(work.rename(work.with_name("elsewhere")))
    (problem,) = login.look().problems
    assert (problem.name, str(work) in problem.detail) == ("workspace.link", True)


def test_a_workspace_that_came_back_since_the_last_look_is_there(held: Login) -> None:
    held.beat(seconds_ago=20, workspace_exists=False)
    record = read_nodes(held.place)[0]
    back = msgspec.structs.replace(record, job_id=7, time=iso_time(time.time()) or "")
    record_node(held.place, back)
    assert (held.look().workspace.exists, held.problems()) == (True, [])


def test_without_an_auto_backup_the_record_says_how_old_it_is(held: Login) -> None:
    assert held.look().workspace.seen_time is not None


def test_the_oldest_check_is_shown(login: Login) -> None:
    (snapshot,) = login.desk.ids
    days_ago = iso_time(time.time() - 4 * 86400 - 60) or ""
    record_verified(login.place, [Verification(snapshot=snapshot, time=days_ago)])
    assert "oldest check: 4 days ago" in "\n".join(shown(login.look()))


def test_an_interval_for_one_start_is_not_called_a_change_of_settings(held: Login) -> None:
    held.beat(every_s=1, workspace_exists=True)
    backup = msgspec.structs.replace(held.settings.profile.backup, every=Duration(1))
    once = msgspec.structs.replace(held.settings.profile, backup=backup)
    assert settings_digest(once) == settings_digest(held.settings.profile)
    assert held.problems() == []


@pytest.mark.parametrize("earlier", [{"job_id": 6}, {"job_name": "scratchflow:test:earlier"}])
def test_a_copy_of_an_earlier_job_is_not_said_to_be_there(
    held: Login, earlier: dict[str, Any]
) -> None:
    """Between two jobs a site may empty its scratch. Slurm may have given both the same number."""
    record = read_nodes(held.place)[0]
    yesterday = iso_time(time.time() - 86400) or ""
    record_node(held.place, msgspec.structs.replace(record, **earlier, time=yesterday))
    seen = held.look()
    assert (seen.workspace.exists, seen.workspace.base_snapshot) == (None, record.snapshot)
    assert "from snapshot" not in "\n".join(shown(seen))


@pytest.mark.parametrize("earlier", [86400, -60], ids=["before this job", "since it began"])
def test_a_copy_on_another_scratch_of_the_node_is_not_this_profiles(
    held: Login, earlier: float
) -> None:
    """Two profiles with one store and two scratches: the node has one record, of the copy that was saved last."""
    record = msgspec.structs.replace(
        read_nodes(held.place)[0],
        workspace_path="/elsewhere/work",
        job_id=6,
        job_name="scratchflow:other:earlier",
        time=iso_time(time.time() - earlier) or "",
        restoring=held.desk.ids[0],
    )
    record_node(held.place, record)
    seen = held.look()
    assert (seen.workspace.exists, seen.workspace.base_snapshot) == (None, None)
    assert "an earlier job left" not in "\n".join(shown(seen))
    assert seen.problems == []
    held.beat(workspace_exists=True)
    assert held.look().workspace.exists is True


def test_a_restore_that_did_not_finish_on_the_node_is_shown(held: Login) -> None:
    snapshot = held.desk.ids[0]
    held.beat(workspace_exists=True)
    record = read_nodes(held.place)[0]
    record_node(held.place, msgspec.structs.replace(record, restoring=snapshot))
    seen = held.look()
    assert seen.workspace.base_snapshot is None
    assert [problem.name for problem in seen.problems] == ["restore.incomplete"]
    assert snapshot in seen.problems[0].detail
    yesterday = iso_time(time.time() - 86400) or ""
    of_another_job = msgspec.structs.replace(record, restoring=snapshot, job_id=6, time=yesterday)
    record_node(held.place, of_another_job)
    assert "restore.incomplete" not in held.problems()
    record_node(held.place, record)
    assert held.problems() == []


def test_a_store_that_is_not_mounted_is_not_called_new(held: Login) -> None:
    home = Path(held.environment["HOME"])
    note_store(home, held.place, ensure_store_id(held.place))
    shutil.rmtree(held.desk.context.store)
    assert "store.lost" in held.problems()
    assert "none yet" not in "\n".join(shown(held.look()))


def test_nothing_is_said_of_a_store_that_cannot_be_read(held: Login) -> None:
    """As when the file server is away."""
    held.beat()
    store = held.desk.context.store
    store.rename(store.with_name("away"))
    store.write_text("no directory")
    seen = held.look()
    assert [problem.name for problem in seen.problems] == ["store.unusable"]
    text = "\n".join(shown(seen))
    assert "none yet" not in text
    assert "auto-backup  off" not in text
    assert text.count("not known") == 2


def other(login: Login, **fields: object) -> OtherWorkspace:
    """One on the node, with its directory in the store."""
    store = login.desk.context.store
    plain = OtherWorkspace(name="p2", store=str(store), snapshot=make_id())
    found = msgspec.structs.replace(plain, **fields)
    (store / found.name).mkdir(exist_ok=True)
    return found


def test_with_set_workspace_the_auto_backup_that_saves_it_too_is_shown(held: Login) -> None:
    held.beat(workspace="work", others=[other(held)], job_name="job", next_time=iso_time(1e9))
    profile = msgspec.structs.replace(held.settings.profile, workspace="p2")
    held.settings = msgspec.structs.replace(held.settings, profile=profile)
    found = held.look().autobackup
    assert (found.enabled, found.of_workspace, found.next_time) == (True, "work", iso_time(1e9))
    assert "every 30 min, by the auto-backup of `work`" in "\n".join(shown(held.look()))
    held.beat(others=[other(held, own_loop=True)], job_name="job")
    assert not held.look().autobackup.enabled, "its own one has ended, and nobody saves it now"
    held.beat(others=[other(held, store="/another/store")], job_name="job")
    assert not held.look().autobackup.enabled


def test_of_several_nodes_each_has_an_auto_backup_or_is_said_to_have_none(held: Login) -> None:
    held.hold("node-2", "node-3", "node-4")
    held.beat(workspace_exists=True)
    held.beat(node="node-2")
    held.beat(node="node-3", last_error="no space")
    seen = held.look().autobackup
    assert (seen.others, seen.missing_on) == (["node-2", "node-3"], ["node-4"])
    assert seen.failed_on == {"node-3": "no space"}
    held.beat(node="node-4", seconds_ago=1000)
    assert held.look().autobackup.missing_on == ["node-4"]
    text = " ".join("\n".join(shown(held.look())).split())
    assert "every 30 min, not on node-4" in text
    held.beat(node="node-4")
    assert "every 30 min, on every node" in " ".join("\n".join(shown(held.look())).split())
    held.beat(phase="ended")
    assert held.look().autobackup.missing_on == []  # somebody has switched it off


def test_the_auto_backup_of_another_profile_with_the_same_workspace_is_named(
    held: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "scratchflow:login:01234567"
    monkeypatch.setattr(looking, "forgotten_jobs", lambda *_: ())  # which asks Slurm
    held.beat(job_id=8, job_name=name, workspace_exists=True)
    assert not held.look().autobackup.enabled  # nobody knows its job: it may have ended
    theirs = msgspec.structs.replace(JOB, job_id=8, name=name)
    monkeypatch.setattr(looking, "jobs_seen", lambda _: ([JOB], [theirs]))
    found = held.look().autobackup
    assert (found.enabled, found.of_profile) == (True, "login")
    held.beat(
        job_id=8, job_name=name, settings="other"
    )  # it saves another directory, or less of it
    seen = held.look()
    off = seen.autobackup
    assert (off.enabled, off.kept_off_by, off.kept_off_job) == (False, "login", 8)
    (problem,) = [one for one in seen.problems if one.name.startswith("autobackup.")]
    assert problem.name == "autobackup.other_profile"
    assert "that of profile `login` (job 8)" in problem.detail
    assert "autobackup on" not in problem.fix
    held.beat(job_id=8, job_name=name, seconds_ago=7200)
    assert not held.look().autobackup.enabled
    assert not held.look().autobackup.kept_off_by
