"""Which way leads onto the node: as `srun` says, asked once, before anything is done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.login.check import _check_steps
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import NodeSilent
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.reach.node import JobStep, NodeSsh, node_transport
from scratchflow.ssh.transport import node as neighbour

HELD = RunningAllocation(job_id=7, name="scratchflow:aws:x", state="running", nodes=("node-1",))
ASKED = 'echo "$*" >> "$HOME/asked"\n'
NEW = f"{ASKED}echo slurm 22.05.8\n"
OLD = (
    ASKED
    + "case $1 in --overlap) echo \"srun: unrecognized option '--overlap'\" >&2; exit 1;; esac\n"
    + "echo slurm 19.05.5\n"
)
# Does on this machine what it is asked to do on the node, as the shell over there would.
SSH = 'for last; do :; done\nexec sh -c "$last"\n'


class Host:
    """A login host with these programs, and nothing of Slurm's besides."""

    def __init__(self, home: Path, **programs: str) -> None:
        self.home = home
        self.environment = {"HOME": str(home), "PATH": f"{home}/bin:{os.defpath}"}
        (home / "bin").mkdir()
        for name, text in programs.items():
            file = home / "bin" / name
            file.write_text(f"#!/bin/sh\n{text}")
            file.chmod(0o755)

    @property
    def asked(self) -> list[str]:
        return (self.home / "asked").read_text().splitlines()


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node's keys are on record in a home of the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(neighbour, "know_node", lambda *_: None)


def test_a_step_where_srun_can_overlap_and_ssh_where_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "old").mkdir()
    new, old = Host(tmp_path / "new", srun=NEW), Host(tmp_path / "old", srun=OLD)
    assert isinstance(node_transport(HELD, "aws", new.environment), JobStep)
    for _ in range(3):
        assert isinstance(node_transport(HELD, "aws", old.environment), NodeSsh)
    assert old.asked == ["--overlap --version"]


def test_an_srun_that_gives_no_answer_is_not_taken_for_an_old_one(tmp_path: Path) -> None:
    host = Host(tmp_path, srun="echo 'srun: fatal: no config' >&2; exit 1\n")
    with pytest.raises(SlurmUnreachable, match="no config"):
        node_transport(HELD, "aws", host.environment)


def test_over_ssh_a_command_finds_its_job_and_its_words_as_they_were(tmp_path: Path) -> None:
    host = Host(tmp_path, srun=OLD, ssh=SSH)
    node = node_transport(HELD, "aws", host.environment)
    script = 'echo "$SLURM_JOB_ID $SLURMD_NODENAME ${SLURM_STEP_ID-none}"; echo "$1"; cat'
    done = node.run(["sh", "-c", script, "sh", "a '$b'; c"], stdin=b"input", timeout_s=10)
    assert done.stdout.decode().splitlines() == ["7 node-1 none", "a '$b'; c", "input"]
    with node.stream(["sh", "-c", "echo one; echo two"]) as stream:
        assert list(stream) == [b"one", b"two"]


def test_without_ssh_the_node_is_said_to_be_out_of_reach(tmp_path: Path) -> None:
    host = Host(tmp_path, srun=OLD)
    node = NodeSsh(HELD, "aws", {**host.environment, "PATH": f"{tmp_path}/bin"})
    with pytest.raises(NodeSilent, match="`ssh` cannot be started"):
        node.run(["true"], timeout_s=10)


@pytest.mark.parametrize(
    ("srun", "said"),
    [
        (NEW, "onto the node with `srun --overlap` (slurm 22.05.8)"),
        (OLD, "onto the node over ssh: `srun` (slurm 19.05.5) knows no `--overlap`"),
    ],
)
def test_doctor_says_which_way_and_why(tmp_path: Path, srun: str, said: str) -> None:
    check = _check_steps(Host(tmp_path, srun=srun).environment)
    assert (check.ok, check.detail) == (True, said)
