"""What a flow knows of where it is: refused where it could save nothing, or save itself."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import msgspec
import pytest

from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.model.errors.store import StoreLocked, StoreOverlaps
from scratchflow.model.errors.workspace import WorkspaceElsewhere
from scratchflow.node.context import node_context
from scratchflow.store.directory import open_place
from scratchflow.testing.slurm_programs import SlurmPrograms
from tests.unit.conftest import Desk

ENVIRONMENT = {"USER": "u", "HOME": "/h"}


def _settings(directory: Path, **keys: str) -> Settings:
    plain = {"scratch": f"{directory}/scratch", "store": f"{directory}/store", "scheduler": "none"}
    lines = [f'{key} = "{value}"' for key, value in (plain | keys).items()]
    (directory / "config.toml").write_text("\n".join(["[profiles.test]", *lines]))
    return load_settings(Asked(config=str(directory / "config.toml")), ENVIRONMENT)


@pytest.mark.parametrize(
    "store",
    ["scratch/work/store", "scratch/work", "scratch/.scratchflow", "scratch/.scratchflow/work/x"],
)
def test_a_store_inside_what_it_saves_is_refused(tmp_path: Path, store: str) -> None:
    with pytest.raises(StoreOverlaps):
        node_context(_settings(tmp_path, store=f"{tmp_path}/{store}"), ENVIRONMENT)


def test_a_workspace_inside_its_store_is_refused(tmp_path: Path) -> None:
    settings = _settings(tmp_path, scratch=f"{tmp_path}/store/work")
    with pytest.raises(StoreOverlaps):
        node_context(settings, ENVIRONMENT)


def test_a_link_does_not_hide_that_the_store_lies_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "scratch/work/inside").mkdir(parents=True)
    (tmp_path / "store").symlink_to("scratch/work/inside")
    with pytest.raises(StoreOverlaps):
        node_context(_settings(tmp_path), ENVIRONMENT)


def test_a_store_beside_the_workspace_or_with_a_longer_name_will_do(tmp_path: Path) -> None:
    for store in ("scratch/store", "scratch/work-store"):
        context = node_context(_settings(tmp_path, store=f"{tmp_path}/{store}"), ENVIRONMENT)
        assert context.store == tmp_path / store


def test_a_workspace_of_another_machine_is_refused_unless_it_is_not_needed(tmp_path: Path) -> None:
    settings = _settings(tmp_path, scheduler="slurm", login="cluster")
    with pytest.raises(WorkspaceElsewhere):
        node_context(settings, ENVIRONMENT)
    assert node_context(settings, ENVIRONMENT, needs_scratch=False).job_id is None
    (tmp_path / "scratch").mkdir()  # a plain ssh session on the node, where Slurm says nothing
    assert node_context(settings, ENVIRONMENT).workspace.scratch == tmp_path / "scratch"


def test_the_name_of_the_job_is_asked_of_slurm_unless_it_was_told(tmp_path: Path) -> None:
    """What `srun` puts into SLURM_JOB_NAME is not what Slurm calls the job."""
    programs = tmp_path / "bin"
    programs.mkdir()
    slurm = SlurmPrograms(programs, pwd.getpwuid(os.getuid()).pw_name)
    with slurm.slurm() as fake:
        number = fake.add("scratchflow:test:abcd")
    settings = _settings(tmp_path, scheduler="slurm", login="cluster")
    job = {"SLURM_JOB_ID": str(number), "SLURM_JOB_NAME": "sh", "SLURMD_NODENAME": "node-1"}
    environment = {**ENVIRONMENT, **job, "PATH": f"{programs}:/usr/bin:/bin"}
    assert node_context(settings, environment).job_name() == "scratchflow:test:abcd"
    assert node_context(settings, environment, job_name="told").job_name() == "told"
    away = {**environment, "PATH": ""}
    assert node_context(settings, away).job_name() == ""


def test_the_end_of_the_job_is_asked_of_slurm_or_is_what_it_said_first(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    slurm = SlurmPrograms(programs, pwd.getpwuid(os.getuid()).pw_name)
    with slurm.slurm() as fake:
        number = fake.add("train:20261115T093000Z-3f2a9c")
        begun_s, minutes = fake.jobs[number].start, fake.jobs[number].minutes
    settings = _settings(tmp_path, scheduler="slurm", login="cluster")
    job = {"SLURM_JOB_ID": str(number), "SLURMD_NODENAME": "node-1"}
    environment = {**ENVIRONMENT, **job, "PATH": f"{programs}:/usr/bin:/bin"}
    assert begun_s is not None
    assert node_context(settings, environment).job_end_s() == begun_s + 60 * minutes
    away = {**environment, "PATH": ""}
    assert node_context(settings, away).job_end_s() is None
    assert node_context(settings, {**away, "SLURM_JOB_END_TIME": "1800000000"}).job_end_s() == 18e8


def test_who_has_to_wait_for_the_store_is_told_once_and_who_will_not_is_refused(desk: Desk) -> None:
    place = open_place(desk.context.store, "work")
    remarks: list[str] = []
    with desk.context.lock(place, "backup"):
        with pytest.raises(StoreLocked):
            desk.context.lock(place, "prune", wait_s=0, remark=remarks.append)
        assert remarks == []
        with pytest.raises(StoreLocked):
            desk.context.lock(place, "prune", wait_s=0.01, remark=remarks.append)
    assert remarks[0].endswith("waiting for it")


def test_what_a_killed_restore_left_goes_before_the_next_command(desk: Desk) -> None:
    left = desk.context.workspace.state / "incoming-dead"
    left.mkdir(parents=True)
    with desk.context.alone(lambda _: None):
        assert not left.exists()


def test_two_contexts_draw_different_tokens(desk: Desk) -> None:
    again = msgspec.structs.replace(desk.context)
    assert desk.context.token(4) != again.token(4)
    assert len(os.fsencode(again.token(4))) == 8
