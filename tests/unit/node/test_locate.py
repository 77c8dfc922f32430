"""A node says where its job has scratch, by the job's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.settings import given_settings
from scratchflow.model.errors.config import PathNameUnset
from scratchflow.model.requests import NOTHING
from scratchflow.node.context import node_context
from scratchflow.node.locate import locate
from scratchflow.node.progress import Notifier
from scratchflow.workspace.job_scratch import JobScratch, note_scratch

SETTINGS = given_settings("aws", {"scratch": "$SLURM_TMPDIR", "store": "/fsx"}, "a test")
STEP = {"SLURMD_NODENAME": "n1", "SLURM_JOB_ID": "7"}


def test_the_names_of_the_job_are_put_in(tmp_path: Path) -> None:
    step = {**STEP, "HOME": str(tmp_path), "SLURM_TMPDIR": "/local/../local7"}
    context = node_context(SETTINGS, step)
    assert locate(context, Notifier(lambda _: None), NOTHING).path == "/local7"
    assert context.scratch_goes_with_job


def test_what_was_noted_for_the_job_comes_before_a_session_that_knows_nothing(
    tmp_path: Path,
) -> None:
    found = JobScratch(job_id=7, node="n1", written="$SLURM_TMPDIR", path="/local7")
    note_scratch(tmp_path, "aws", found)
    assert node_context(SETTINGS, {**STEP, "HOME": str(tmp_path)}).workspace.scratch == Path(
        "/local7"
    )


def test_a_name_that_the_job_does_not_set_is_told_with_the_job(tmp_path: Path) -> None:
    with pytest.raises(PathNameUnset, match=r"not set in job 7 on `n1`"):
        node_context(SETTINGS, {**STEP, "HOME": str(tmp_path)})


def test_what_needs_only_the_store_needs_no_name_of_a_job(tmp_path: Path) -> None:
    context = node_context(SETTINGS, {"HOME": str(tmp_path)}, needs_scratch=False)
    assert str(context.workspace.path) == "$SLURM_TMPDIR/work"


def test_a_name_that_only_a_login_shell_on_the_node_sets_is_found(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text("export LOCAL_DISK=/disk7\n")
    settings = given_settings("aws", {"scratch": "$LOCAL_DISK/x", "store": "/fsx"}, "a test")
    step = {**STEP, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    assert node_context(settings, step).workspace.scratch == Path("/disk7/x")
