"""What the login host offers, looked at without changing anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.cluster.command import local_run
from scratchflow.cluster.slurm.node_text import shown_settings
from scratchflow.login.site_marks import look_for_marks
from scratchflow.login.survey import store_candidates
from scratchflow.model.requests import Survey


def test_the_users_own_directory_is_found_wherever_a_site_puts_it(tmp_path: Path) -> None:
    for made in ("a/users/alice", "b/alice", "c"):
        (tmp_path / made).mkdir(parents=True)
    roots = [str(tmp_path / name) for name in ("a", "b", "c", "missing")]
    found = list(store_candidates(roots, {"USER": "alice", "HOME": "/home/alice"}))
    assert found == [
        f"{roots[0]}/users/$USER/scratchflow",
        f"{roots[1]}/$USER/scratchflow",
        f"{roots[2]}/$USER/scratchflow",
    ]


def test_a_directory_that_may_not_be_searched_is_no_place_and_no_crash(tmp_path: Path) -> None:
    root = tmp_path / "fsx"
    (root / "users").mkdir(parents=True)
    (root / "users").chmod(0)
    if os.access(root / "users", os.X_OK):
        pytest.skip("root may search anywhere")
    environment = {"USER": "bob", "HOME": "/home/bob"}
    assert list(store_candidates([str(root)], environment)) == [f"{root}/$USER/scratchflow"]
    beneath = [str(root / "users/inner")]
    assert list(store_candidates(beneath, environment)) == []
    asked = Survey(directories=(str(root / "users/inner"),))
    assert look_for_marks(asked, environment, local_run(environment)).directories == ()


def test_slurms_own_settings_are_read_by_key() -> None:
    text = "Configuration data as of 2026\nClusterName             = mini\nTmpFS = /local=x\n\n"
    found = shown_settings(text)
    assert (found["ClusterName"], found["TmpFS"]) == ("mini", "/local=x")
