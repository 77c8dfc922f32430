"""What `doctor` finds on the login host and on the node, and what it calls amiss."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.login.check import check_login, check_node
from scratchflow.login.host import LoginHost
from scratchflow.model.events import Checked, Event, Progress
from scratchflow.model.profile import EnvironmentOptions, SlurmOptions
from scratchflow.model.requests import NOTHING, Look
from scratchflow.model.results.checks import Check
from scratchflow.node.context import node_context
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import store_seen_here
from scratchflow.testing.slurm import FakeSlurm
from scratchflow.workspace.notes import forget_base, write_base
from tests.unit.login.status.test_status import NODE, Login, with_layers


def test_doctor_says_that_a_deleted_workspace_is_amiss(login: Login) -> None:
    shutil.rmtree(login.desk.work)
    checks = {
        one.name: one
        for one in check_login(LoginHost(login.settings, login.environment, lambda _: None)).checks
    }
    assert not checks["workspace"].ok
    assert "is not there any more" in checks["workspace"].detail


def test_doctor_says_that_of_a_workspace_that_became_a_link_nothing_can_be_saved(
    login: Login,
) -> None:
    login.desk.backup()
    work = login.desk.work
    work.rename(work.with_name("moved"))
    work.symlink_to("moved")
    check = found(login)["workspace"]
    assert not check.ok
    assert "is a symlink" in check.detail
    assert check.fix


def test_doctor_knows_it_from_the_record_when_the_notes_are_gone_too(held: Login) -> None:
    shutil.rmtree(held.desk.scratch)
    environment = {**held.environment, "SLURMD_NODENAME": NODE, "SLURM_JOB_ID": "7"}
    checks = {
        one.name: one
        for one in check_node(
            node_context(held.settings, environment), Notifier(lambda _: None), NOTHING, environment
        ).checks
    }
    assert not checks["workspace"].ok
    environment["SLURM_JOB_ID"] = "8"
    checks = {
        one.name: one
        for one in check_node(
            node_context(held.settings, environment), Notifier(lambda _: None), NOTHING, environment
        ).checks
    }
    assert checks["workspace"].ok


def test_doctor_says_where_the_workspace_is_when_scratch_was_changed_meanwhile(
    held: Login, tmp_path: Path
) -> None:
    profile = msgspec.structs.replace(held.settings.profile, scratch=str(tmp_path / "other"))
    settings = msgspec.structs.replace(held.settings, profile=profile)
    environment = {**held.environment, "SLURMD_NODENAME": NODE, "SLURM_JOB_ID": "7"}
    at_node = node_context(settings, environment)
    done = check_node(at_node, Notifier(lambda _: None), NOTHING, environment)
    check = next(one for one in done.checks if one.name == "workspace")
    assert not check.ok
    assert str(held.desk.work) in check.detail
    assert f"config set scratch {held.desk.scratch}" in check.fix


def test_doctor_says_of_a_workspace_what_status_says_also_when_its_notes_are_of_another_store(
    held: Login, tmp_path: Path
) -> None:
    newest = held.desk.ids[-1]
    held.desk.work.mkdir(exist_ok=True)
    write_base(held.desk.context.workspace, tmp_path / "second", "20260101T000000Z-abcdef")
    environment = {**held.environment, "SLURMD_NODENAME": NODE, "SLURM_JOB_ID": "7"}
    assert _workspace_at(held, environment).endswith(f"from snapshot {newest}")
    environment["SLURM_JOB_ID"] = "8"  # a job that neither saved nor restored it
    elsewhere = f"from snapshot 20260101T000000Z-abcdef of another store, {tmp_path / 'second'}"
    assert _workspace_at(held, environment).endswith(elsewhere)
    forget_base(held.desk.context.workspace)
    assert _workspace_at(held, environment).endswith("in no snapshot yet")


def _workspace_at(held: Login, environment: dict[str, str]) -> str:
    context = node_context(held.settings, environment)
    checks = check_node(context, Notifier(lambda _: None), NOTHING, environment).checks
    return next(one.detail for one in checks if one.name == "workspace")


def test_a_renamed_workspace_is_named_with_the_way_back(held: Login) -> None:
    desk = held.desk
    desk.work.mkdir(exist_ok=True)
    desk.backup()
    desk.work.rename(desk.scratch / "thesis")
    environment = {**held.environment, "SLURMD_NODENAME": NODE, "SLURM_JOB_ID": "7"}
    assert "was renamed to" in _workspace_at(held, environment)
    (desk.scratch / "thesis").rename(desk.work)
    assert "was renamed to" not in _workspace_at(held, environment)


def found(login: Login) -> dict[str, Check]:
    seen = check_login(LoginHost(login.settings, login.environment, lambda _: None))
    return {one.name: one for one in seen.checks}


def test_each_result_is_told_when_it_is_there_and_all_are_returned_in_order(login: Login) -> None:
    told: list[Event] = []
    host = LoginHost(login.settings, login.environment, told.append)
    done = check_login(host, Look(tells=True)).checks
    names = [check.name for check in done]
    assert names.index("tmux") < names.index("store") < names.index("workspace")
    live = [event.name for event in told if isinstance(event, Checked)]
    assert sorted(live) == sorted(names)
    awaited = [event.phase for event in told if isinstance(event, Progress)]
    assert awaited
    assert all(phase.startswith("checking ") for phase in awaited)
    check_login(LoginHost(login.settings, login.environment, lambda _: pytest.fail("told")))


def test_an_environment_that_is_not_there_is_amiss_with_its_next_step(held: Login) -> None:
    settings = with_layers(held.settings, EnvironmentOptions(venv="env"))
    environment = {**held.environment, "SLURM_JOB_ID": "7", "SLURMD_NODENAME": NODE}

    def environment_check() -> list[Check]:
        context = node_context(settings, environment)
        checks = check_node(context, Notifier(lambda _: None), NOTHING, environment).checks
        return [one for one in checks if one.name == "environment"]

    (check,) = environment_check()
    assert not check.ok
    assert f"`env`, which is not on `{NODE}`" in check.detail
    held.desk.write("env/bin/activate")
    assert environment_check() == []


def test_a_machine_that_is_well_has_nothing_amiss(login: Login) -> None:
    checks = found(login)
    assert checks["store"].ok
    assert checks["scratch"].ok
    assert checks["workspace"].detail.endswith(f"from snapshot {login.desk.ids[-1]}")


def test_a_store_or_scratch_that_cannot_be_written_is_named_with_a_fix(login: Login) -> None:
    login.desk.context.store.chmod(0o500)
    try:
        store = found(login)["store"]
    finally:
        login.desk.context.store.chmod(0o700)
    if os.geteuid() != 0:
        assert not store.ok
        assert "config set store" in store.fix
    profile = msgspec.structs.replace(login.settings.profile, scratch="/proc/nowhere")
    login.settings = msgspec.structs.replace(login.settings, profile=profile)
    scratch = found(login)["scratch"]
    assert not scratch.ok
    assert "config set scratch" in scratch.fix


def test_a_store_whose_id_cannot_be_read_is_named_with_the_next_step(login: Login) -> None:
    (login.desk.place.directory / "store.json").write_text("nonsense")
    store = found(login)["store"]
    assert not store.ok
    assert "does not hold a store's id" in store.detail
    assert "moves it away" in store.fix


def test_a_store_that_is_not_there_yet_is_not_amiss_and_not_made(
    login: Login, tmp_path: Path
) -> None:
    profile = msgspec.structs.replace(login.settings.profile, store=str(tmp_path / "new/store"))
    login.settings = msgspec.structs.replace(login.settings, profile=profile)
    assert found(login)["store"].detail == f"{tmp_path}/new/store (will be made)"
    assert not (tmp_path / "new").exists()


def test_a_slurm_that_is_away_is_the_only_thing_said_of_slurm(login: Login) -> None:
    login.hold()
    checks = found(login)
    assert not checks["slurm"].ok
    assert "PATH" in checks["slurm"].detail
    assert "steps" not in checks
    assert "scratch" not in checks  # that is the node's to show


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (SlurmOptions(partition="nosuch"), "there are debug, gpu"),
        (SlurmOptions(partition="debug", time="8:00:00"), "slurm.time 00:10:00`"),
        (
            SlurmOptions(partition="debug", time="2:00:00"),
            "slurm.partition gpu`, which gives 04:00:00",
        ),
        (SlurmOptions(time="11"), "slurm.time"),
        (SlurmOptions(partition="gpu", time="4:00:00"), ""),
    ],
)
def test_what_the_partition_does_not_give_is_said_before_anybody_waits_for_it(
    login: Login, monkeypatch: pytest.MonkeyPatch, options: SlurmOptions, word: str
) -> None:
    login.hold()
    slurm = Slurm(FakeSlurm(), "alice", "login")
    monkeypatch.setattr("scratchflow.login.check.this_slurm", lambda _: slurm)
    monkeypatch.setattr("scratchflow.login.check.steps_overlap", lambda _: True)
    profile = msgspec.structs.replace(login.settings.profile, slurm=options)
    login.settings = msgspec.structs.replace(login.settings, profile=profile)
    checks = found(login)
    assert checks["slurm"].ok is not bool(word)
    assert word in checks["slurm"].fix


def test_doctor_names_a_lost_mount_as_that_also_where_nobody_may_write(held: Login) -> None:
    store = held.desk.context.store
    mounted = store.parent / "mnt/store"
    mounted.parent.mkdir()
    profile = msgspec.structs.replace(held.settings.profile, store=str(mounted))
    settings = msgspec.structs.replace(held.settings, profile=profile)
    environment = {**held.environment, "SLURMD_NODENAME": NODE, "SLURM_JOB_ID": "7"}
    seen = store_seen_here(store, "work", store.parent, print, make=False)
    assert seen
    seen = msgspec.structs.replace(seen, path=str(mounted))
    context = msgspec.structs.replace(node_context(settings, environment), store_seen=seen)
    mounted.parent.chmod(0o555)
    done = check_node(context, Notifier(lambda _: None), NOTHING, environment)
    (found,) = (one for one in done.checks if one.name == "store")
    assert not found.ok
    assert "not the same directory" in found.detail
    assert "findmnt" in (found.fix or "")
