"""Slurm's commands are found where only a login shell's profile puts them on the PATH."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from scratchflow.cluster.command import local_run
from scratchflow.cluster.login_path import users_shell, with_login_names, with_login_path


def _environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin"}


def test_what_a_profile_adds_is_taken_over_whatever_it_prints(tmp_path: Path) -> None:
    (tmp_path / "opt").mkdir()
    tool = tmp_path / "opt/squeue"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    profile = f'echo PATH=/nowhere; PATH="{tmp_path}/opt:$PATH"; SLURM_CONF=/x; EVIL=1\n'
    (tmp_path / ".profile").write_text(f"{profile}export PATH SLURM_CONF EVIL\n")
    before = {"HOME": str(tmp_path), "PATH": "/bin-of-nothing:/usr/bin:/bin"}
    if Path("/usr/bin/squeue").exists():  # a machine that has Slurm itself: hide it
        before["PATH"] = "/nonexistent"
    found = with_login_path(before, local_run({**before, "PATH": "/usr/bin:/bin"}))
    assert str(tmp_path / "opt") in found["PATH"]
    assert found["SLURM_CONF"] == "/x"
    assert "EVIL" not in found


def test_a_path_that_has_slurm_is_left_alone(tmp_path: Path) -> None:
    tool = tmp_path / "squeue"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    before = {"HOME": str(tmp_path), "PATH": str(tmp_path)}
    assert with_login_path(before, local_run(_environment(tmp_path))) == before


def test_without_a_shell_nothing_changes(tmp_path: Path) -> None:
    before = {"PATH": str(tmp_path)}
    assert with_login_path(before, local_run(before)) == before


def test_a_name_is_taken_from_the_users_own_login_shell(tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text("echo hello; export PROJECT=/p/lab OTHER=/o\n")
    before = _environment(tmp_path)
    found = with_login_names(before, {"PROJECT"}, local_run(before), "/bin/bash")
    assert found == {**before, "PROJECT": "/p/lab"}


def test_no_shell_is_started_for_nothing() -> None:
    assert with_login_names({"A": "b"}, set(), local_run({}), "/no/such/shell") == {"A": "b"}
    assert with_login_names({"A": "b"}, {"C"}, local_run({}), "/no/such/shell") == {"A": "b"}


def test_the_shell_is_the_accounts() -> None:
    assert users_shell() == pwd.getpwuid(os.getuid()).pw_shell
