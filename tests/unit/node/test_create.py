"""`create`: the workspace, its first snapshot, and what stands in its way."""

from __future__ import annotations

import fcntl
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from scratchflow.disk.trees import remove_tree
from scratchflow.model.errors.run import LayerFailed
from scratchflow.model.errors.workspace import ShrinkGuard, WorkspaceFailed, WorkspaceKnown
from scratchflow.model.events import Log
from scratchflow.model.requests import Create
from scratchflow.node.create import create, requested_create
from scratchflow.workspace.lock import LOOP_LOCK
from tests.unit.conftest import Desk, make_desk


def test_create_makes_the_workspace_and_refuses_a_second_time(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.work.rmdir()
    assert create(desk.context, desk.notify, Create(dry_run=True), {}).snapshot is None
    assert not desk.work.exists()
    created = create(desk.context, desk.notify, Create(dry_run=False), {})
    assert desk.work.is_dir()
    assert desk.ids == [created.snapshot]
    with pytest.raises(WorkspaceKnown):
        create(desk.context, desk.notify, Create(dry_run=False), {})


def test_what_is_in_the_directory_already_is_the_first_snapshot(desk: Desk) -> None:
    created = create(desk.context, desk.notify, Create(dry_run=False), {})
    assert created.snapshot
    before = desk.content()
    desk.restore(to=desk.scratch.parent / "elsewhere")
    assert desk.content(desk.scratch.parent / "elsewhere/work") == before


def test_the_workspace_is_closed_to_others(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.work.rmdir()
    create(desk.context, desk.notify, Create(dry_run=False), {})
    assert stat.S_IMODE(desk.work.stat().st_mode) == 0o700


def test_a_file_with_the_workspaces_name_is_told_and_stays(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.work.rmdir()
    desk.work.write_text("mine")
    with pytest.raises(WorkspaceFailed, match="File exists"):
        create(desk.context, desk.notify, Create(dry_run=False), {})
    assert desk.work.read_text() == "mine"
    assert desk.ids == []


def test_an_environment_can_be_added_to_a_workspace_that_has_snapshots(desk: Desk) -> None:
    desk.backup()
    env = desk.scratch / "env"
    (env / "bin").mkdir(parents=True)  # one that is there is taken as it is
    (env / "bin/python").symlink_to(sys.executable)
    (env / "pyvenv.cfg").write_text("")
    request = Create(dry_run=True, env="venv")
    assert create(desk.context, desk.notify, request, {}).env == str(env)
    desk.write("work/more")
    created = create(desk.context, desk.notify, Create(dry_run=False, env="venv"), {})
    assert desk.ids[-1] == created.snapshot
    assert created.use_with == "scratchflow config set environment.venv env"
    assert created.save_with == "scratchflow config set backup.also '[\"env\"]'"
    assert created.activate == f"source {env}/bin/activate"


@pytest.mark.parametrize(
    ("settings", "use_with", "save_with"),
    [
        ('environment.venv = "env"\nbackup.also = ["env"]', "", ""),
        ('environment.venv = "./env"', "", "'[\"env\"]'"),
        ('environment.venv = "/shared/env"\nbackup.also = ["data"]', "venv env", '["data","env"]'),
        ('environment.conda = "torch"', "venv env", "env"),
    ],
)
def test_what_the_profile_lacks_for_the_environment_is_said_with_the_commands(
    tmp_path: Path, settings: str, use_with: str, save_with: str
) -> None:
    desk = make_desk(tmp_path, f"{settings}\n")
    env = desk.scratch / "env"
    (env / "bin").mkdir(parents=True)
    (env / "bin/python").symlink_to(sys.executable)
    (env / "pyvenv.cfg").write_text("")
    created = create(desk.context, desk.notify, Create(env="venv"), {})
    assert use_with in created.use_with
    assert bool(created.use_with) is bool(use_with)
    assert save_with in created.save_with
    assert bool(created.save_with) is bool(save_with)


@pytest.mark.parametrize(
    ("request_", "second"),
    [
        (Create(), "scratchflow --set workspace=work2 create"),
        (
            Create(receives="x", named="laptop:~/p2", tracked=True),
            "scratchflow --set workspace=p2 create --from 'laptop:~/p2' --tracked",
        ),
        (
            Create(url="git@host:a/code.git", named="git@host:a/code.git"),
            "scratchflow --set workspace=code create --from git@host:a/code.git",
        ),
        (
            Create(directory="/home/u/my project", named="/home/u/my project"),
            "scratchflow --set workspace=work2 create --from 'laptop:/home/u/my project'",
        ),
        (Create(directory="/x/env", named="/x/env"), "workspace=work2 create --from laptop:/x/env"),
    ],
)
def test_the_refusal_gives_the_command_for_a_second_workspace(
    desk: Desk, request_: Create, second: str
) -> None:
    desk.write("env/there", "already")
    desk.backup()
    with pytest.raises(WorkspaceKnown) as caught:
        create(desk.context, desk.notify, request_, {})
    assert f"{second}`" in caught.value.shown_hint


def test_the_refusal_names_a_directory_that_is_here_as_it_was_typed(
    desk: Desk, tmp_path: Path
) -> None:
    desk.backup()
    source = tmp_path / "thesis"
    source.mkdir()
    with pytest.raises(WorkspaceKnown) as caught:
        create(desk.context, desk.notify, Create(directory=str(source), named=str(source)), {})
    assert f"workspace=thesis create --from {source}`" in caught.value.shown_hint


@pytest.mark.parametrize("scheduler", ["none", "slurm"])
def test_the_refusal_says_where_files_are_copied_to(desk: Desk, scheduler: str) -> None:
    desk.backup()
    profile = msgspec.structs.replace(desk.context.profile, scheduler=scheduler)
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    context = msgspec.structs.replace(desk.context, settings=settings)
    with pytest.raises(WorkspaceKnown) as caught:
        create(context, desk.notify, Create(named="laptop:~/thesis"), {})
    is_here = f"copy them into `{desk.work}`" in caught.value.shown_hint
    assert is_here == (scheduler == "none")
    assert "`scratchflow restore`" not in caught.value.shown_hint
    by_ssh = f"`scp` or `rsync` to `compile_machine:{desk.work}`"
    assert (by_ssh in caught.value.shown_hint) == (scheduler == "slurm")
    desk.work.rename(desk.work.with_name("away"))
    with pytest.raises(WorkspaceKnown) as caught:
        create(context, desk.notify, Create(named="laptop:~/thesis"), {})
    assert caught.value.shown_hint.startswith("`scratchflow restore` brings it back; ")


def test_a_workspace_with_the_wrong_files_is_started_over_as_the_refusal_says(
    tmp_path: Path,
) -> None:
    desk = make_desk(tmp_path)
    for path in ("wrong/a", "wrong/b", "wrong/work/right"):
        desk.write(f"../home/{path}")
    wrong = Create(directory=str(tmp_path / "home/wrong"))
    create(desk.context, desk.notify, wrong, {})
    brought = desk.content()
    with pytest.raises(WorkspaceKnown) as caught:
        create(desk.context, desk.notify, Create(directory=str(tmp_path / "home/wrong/work")), {})
    steps = "`scratchflow backup`, delete what is in it, copy the files, then `scratchflow backup --allow-shrink`"
    assert f"to start it over, {steps};" in caught.value.shown_hint
    saved = desk.backup()
    remove_tree(desk.work)
    desk.write("work/right")
    with pytest.raises(ShrinkGuard):
        desk.backup()
    assert desk.backup(allow_shrink=True).files == 1
    desk.restore(saved.snapshot or "", to=tmp_path / "before")
    assert desk.content(tmp_path / "before/work") == brought
    with pytest.raises(WorkspaceKnown) as caught:
        create(desk.context, desk.notify, Create(), {})
    assert "to start it over" not in caught.value.shown_hint


def test_an_environment_is_made_with_the_profile_s_modules_and_variables(tmp_path: Path) -> None:
    home, log, canary = tmp_path / "home", tmp_path / "log", tmp_path / "canary"
    home.mkdir()
    tool = home / "conda"
    tool.write_text(
        f'#!/bin/sh\necho "$CCACHE_DIR $LOADED" >> {log}\nmkdir -p "$4/bin"; touch "$4/bin/python"\n'
    )
    tool.chmod(0o755)
    module = f'module() {{ export LOADED="$LOADED $*" PATH="{home}:$PATH"; }}\n'
    (home / ".bash_profile").write_text(module)
    hostile = f"$(touch {canary})"
    layers = f'modules = ["conda/24", "{hostile}"]\nvariables = {{ CCACHE_DIR = "$HOME/c" }}\n'
    # What is not made yet can be in the profile already.
    layers += 'conda = "./env"\nprologue = "false"\n'
    desk = make_desk(tmp_path, f"[profiles.test.environment]\n{layers}")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    create(desk.context, desk.notify, Create(env="conda"), environment)
    assert log.read_text() == f"{home}/c  load conda/24 load {hostile}\n"
    assert not canary.exists()


def test_a_module_that_fails_leaves_no_environment(tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text("module() { echo no such module: $2 >&2; return 1; }\n")
    desk = make_desk(tmp_path, '[profiles.test.environment]\nmodules = ["cuda/99"]\n')
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    with pytest.raises(LayerFailed, match="cuda/99`: no such module: cuda/99") as failed:
        create(desk.context, desk.notify, Create(env="venv"), environment)
    assert failed.value.exit_code == 40
    assert not (desk.scratch / "env").exists()


def remarks(desk: Desk) -> list[str]:
    return [event.message for event in desk.events if isinstance(event, Log)]


def test_who_makes_a_workspace_that_nothing_saves_is_told(desk: Desk) -> None:
    requested_create(desk.context, desk.notify, Create(dry_run=True), {})
    assert remarks(desk) == []
    requested_create(desk.context, desk.notify, Create(), {})
    (remark,) = remarks(desk)
    assert remark.endswith("`scratchflow autobackup on` saves the workspace every 30 min")


def test_a_second_workspace_is_saved_by_the_auto_backup_of_the_first(desk: Desk) -> None:
    desk.backup()
    workspace = msgspec.structs.replace(desk.context.workspace, name="p2")
    second = Desk(msgspec.structs.replace(desk.context, workspace=workspace))
    with (desk.context.workspace.state / LOOP_LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        requested_create(second.context, second.notify, Create(), {})
    assert remarks(second) == []
