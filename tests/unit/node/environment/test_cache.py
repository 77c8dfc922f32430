"""The kept change: believed only while it is whole, ours, and about the same profile, job and files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from scratchflow.model.profile import EnvironmentOptions
from scratchflow.node.environment.cache import (
    cache_file,
    cache_key,
    forget_cached,
    read_cached,
    write_cached,
)
from scratchflow.node.environment.change import Change
from scratchflow.workspace.workspace import Workspace

_CHANGE = Change({"A": "1\n2", "RAW": "\udcff", "BASH_FUNC_ml%%": "() { :; }"}, ("B",))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o700)
    return Workspace(scratch=scratch, name="work")


def test_it_comes_back_and_only_its_owner_can_read_it(workspace: Workspace) -> None:
    write_cached(workspace, "k", _CHANGE, {})
    assert read_cached(workspace, "k") == _CHANGE
    assert stat.S_IMODE(cache_file(workspace, "k").stat().st_mode) == 0o600
    forget_cached(workspace)
    assert read_cached(workspace, "k") is None
    forget_cached(workspace)


def test_another_key_is_another_environment(workspace: Workspace) -> None:
    write_cached(workspace, "k", _CHANGE, {})
    assert read_cached(workspace, "other") is None
    one = EnvironmentOptions(venv="a")
    keys = {
        cache_key(one, Path("/s"), 1, {}),
        cache_key(one, Path("/s"), 2, {}),
        cache_key(one, Path("/t"), 1, {}),
        cache_key(EnvironmentOptions(venv="b"), Path("/s"), 1, {}),
        cache_key(one, Path("/s"), 1, {"LOADEDMODULES": "gcc/12"}),
        cache_key(one, Path("/s"), 1, {"LOADEDMODULES": "\udcff"}),
    }
    assert len(keys) == 6


def test_two_steps_of_a_job_share_one() -> None:
    one = EnvironmentOptions(venv="a")
    step = {"SLURM_STEP_ID": "1", "SSH_CONNECTION": "a 1", "TERM": "xterm", "PATH": "/bin"}
    other = {"PATH": "/bin", "SLURM_STEP_ID": "2", "PWD": "/x"}
    assert cache_key(one, Path("/s"), 1, step) == cache_key(one, Path("/s"), 1, other)


def test_only_a_few_are_kept(workspace: Workspace) -> None:
    keys = [f"{number:016}" for number in range(12)]
    for key in keys:
        write_cached(workspace, key, _CHANGE, {})
        os.utime(cache_file(workspace, key), ns=(int(key) + 1, int(key) + 1))
    left = [key for key in keys if read_cached(workspace, key)]
    assert left == keys[-8:]
    (workspace.state / "base.json").touch()
    forget_cached(workspace)
    assert os.listdir(workspace.state) == ["base.json"]


@pytest.mark.parametrize("cut", [1, 30, -1, -5])
def test_a_cut_or_changed_file_is_not_believed(workspace: Workspace, cut: int) -> None:
    write_cached(workspace, "k", _CHANGE, {})
    file = cache_file(workspace, "k")
    whole = file.read_bytes()
    file.write_bytes(whole[:cut])
    assert read_cached(workspace, "k") is None
    file.write_bytes(whole.replace(b"A=1", b"A=9"))
    assert read_cached(workspace, "k") is None


def test_one_that_others_could_have_written_is_not_believed(workspace: Workspace) -> None:
    write_cached(workspace, "k", _CHANGE, {})
    file = cache_file(workspace, "k")
    file.chmod(0o660)
    assert read_cached(workspace, "k") is None
    file.chmod(0o600)
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")
    assert read_cached(workspace, "k") is None


def test_a_venv_that_was_made_anew_or_a_changed_profile_of_the_shell_makes_it_stale(
    workspace: Workspace, tmp_path: Path
) -> None:
    venv, home = tmp_path / "venv", tmp_path / "home"
    for directory in (venv, home):
        directory.mkdir()
    (venv / "pyvenv.cfg").touch()
    environment = {"VIRTUAL_ENV": str(venv), "HOME": str(home)}
    write_cached(workspace, "k", _CHANGE, environment)
    assert read_cached(workspace, "k") == _CHANGE
    os.utime(venv / "pyvenv.cfg", ns=(1, 1))
    assert read_cached(workspace, "k") is None
    write_cached(workspace, "k", _CHANGE, environment)
    (home / ".bashrc").touch()
    assert read_cached(workspace, "k") is None


def test_without_room_it_is_only_not_kept(tmp_path: Path) -> None:
    (tmp_path / "scratch").write_text("a file")
    workspace = Workspace(scratch=tmp_path / "scratch", name="work")
    write_cached(workspace, "k", _CHANGE, {})
    assert read_cached(workspace, "k") is None
