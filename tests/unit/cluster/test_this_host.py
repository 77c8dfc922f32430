"""Which machine this is, from what Slurm and the system tell a process."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from scratchflow.cluster.this_host import (
    job_id,
    login_host,
    node_name,
    role,
    slurm_variables,
    step_id,
)


def test_the_login_host_has_a_name_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(nodename="login2"))
    for loopback in ("localhost", "localhost.localdomain", "::1"):
        monkeypatch.setattr("socket.getfqdn", lambda name=loopback: name)
        assert login_host() == "login2"
    monkeypatch.setattr("socket.getfqdn", lambda: "login2.cluster.example")
    assert login_host() == "login2.cluster.example"


def test_what_is_told_over_ssh_is_what_a_step_would_read_but_for_its_number() -> None:
    environment = {"PATH": "/opt/slurm/bin:/usr/bin", "SLURM_CONF": "/etc/s.conf", "SECRET": "x"}
    result = dict(word.split("=", 1) for word in slurm_variables(7, "node-1", environment))
    assert (role(result), node_name(result), job_id(result), step_id(result)) == (
        "node",
        "node-1",
        7,
        None,
    )
    assert (result["PATH"], result["SLURM_CONF"]) == (
        environment["PATH"],
        environment["SLURM_CONF"],
    )
    assert "SECRET" not in result


@pytest.mark.parametrize("text", ["", "seven", "-7", "7.0", "\u0667", "7 ", "4294967295x"])
def test_what_is_no_number_is_no_job_and_no_step(text: str) -> None:
    environment = {"SLURM_JOB_ID": text, "SLURM_STEP_ID": text}
    assert (job_id(environment), step_id(environment)) == (None, None)


def test_a_host_that_can_allocate_is_a_login_host(tmp_path: Path) -> None:
    assert role({"PATH": str(tmp_path)}) == "laptop"
    salloc = tmp_path / "salloc"
    salloc.write_text("#!/bin/sh\n")
    assert role({"PATH": str(tmp_path)}) == "laptop"  # not a program
    salloc.chmod(0o755)
    assert role({"PATH": f"/nowhere:{tmp_path}"}) == "login"
    assert role({"PATH": str(tmp_path), "SLURMD_NODENAME": "node-1"}) == "node"


def test_a_program_in_the_current_directory_makes_no_login_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "salloc").write_text("#!/bin/sh\n")
    (tmp_path / "salloc").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert role({"PATH": ":.:"}) == "laptop"


def test_outside_a_job_the_node_has_the_machines_short_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(nodename="node-9.cluster.example"))
    assert node_name({}) == "node-9"
    assert node_name({"SLURMD_NODENAME": "a100-3"}) == "a100-3"
