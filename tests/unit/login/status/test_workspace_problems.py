"""What `status` warns of in the workspace itself, here and as the auto-backup of another machine sees it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.login.status.workspace_problems import half_restored, workspace_gone
from scratchflow.model.results.status import WorkspaceShown
from scratchflow.store.directory import open_place
from tests.unit.login.status.test_problems import job
from tests.unit.login.status.test_status import Login


def test_a_restore_that_did_not_finish_is_shown() -> None:
    (problem,) = list(half_restored("20261116T080000Z-abcdef"))
    assert problem.name == "restore.incomplete"
    assert "--abandon" in problem.fix
    assert list(half_restored("")) == []


def test_a_workspace_that_is_gone_may_have_another_name() -> None:
    gone = WorkspaceShown(path="/scratch/u/work", exists=False, base_snapshot=None)
    (problem,) = workspace_gone(gone, job(1))
    assert "`ls /scratch/u` there shows it" in problem.fix
    assert "`scratchflow restore` brings the last snapshot back" in problem.fix


def test_one_that_was_renamed_on_its_node_is_named_with_the_way_back(held: Login) -> None:
    thesis = str(Path(held.look().workspace.path).with_name("thesis"))
    held.beat(workspace_exists=False, renamed=[thesis])
    (problem,) = held.look().problems
    assert problem.name == "workspace.renamed"
    assert f"`{thesis}` was the workspace" in problem.detail
    assert " -- mv thesis work` gives it its name back" in problem.fix
    held.beat(workspace_exists=True, renamed=[thesis])
    (problem,) = held.look().problems
    assert "`scratchflow --set workspace=thesis backup` saves `thesis`" in problem.fix
    held.beat(workspace_exists=True)
    assert held.problems() == []


def test_one_that_was_renamed_here_is_named_too(login: Login) -> None:
    work = login.desk.work
    work.rename(work.with_name("thesis"))
    assert login.problems() == ["workspace.renamed"]
    work.mkdir()
    assert login.problems() == ["workspace.renamed"]
    work.rmdir()
    work.with_name("thesis").rename(work)
    assert login.problems() == []


@pytest.mark.parametrize("is_there", [True, False])
def test_its_name_is_whole_in_the_way_out_also_where_the_scratch_is_not_known(
    held: Login, *, is_there: bool
) -> None:
    profile = msgspec.structs.replace(
        held.settings.profile, scratch="$JOB_SCRATCH", workspace="lab/work"
    )
    held.settings = msgspec.structs.replace(held.settings, profile=profile)
    held.place = open_place(held.desk.context.store, "lab/work")
    held.beat(workspace_exists=is_there, renamed=["/local/7/lab/thesis"])
    fixes = {one.name: one.fix for one in held.look().problems}
    wanted = (
        "--set workspace=lab/thesis backup"
        if is_there
        else "--cwd /local/7 -- mv lab/thesis lab/work`"
    )
    assert wanted in fixes["workspace.renamed"]
