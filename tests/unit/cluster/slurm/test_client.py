"""Slurm is asked within a time limit, and what is no answer is never taken for one."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from scratchflow.cluster.command import CommandMissing, CommandUnanswered
from scratchflow.cluster.slurm.client import Slurm, this_slurm
from scratchflow.cluster.slurm.jobs import cancel, our_jobs
from scratchflow.model.errors.slurm import SlurmMissing, SlurmUnreachable
from scratchflow.process.child import Completed
from scratchflow.testing.command import completed


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (CommandUnanswered("no answer within 20 s"), "within 20 s"),
        (CommandMissing("squeue"), "PATH"),
    ],
)
def test_a_slurm_that_hangs_or_is_not_there_is_out_of_reach(error: Exception, words: str) -> None:
    def run(argv: object, timeout_s: float) -> Completed:
        assert timeout_s <= 20, argv
        raise error

    slurm = Slurm(run, "alice", "login")
    with pytest.raises(SlurmUnreachable, match=words):
        our_jobs(slurm)
    with pytest.raises(SlurmUnreachable, match=words):
        cancel(slurm, 7, "aws")


@pytest.mark.parametrize(
    "words",
    [
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
        "salloc: error: Munge encode failed: Failed to access socket",
        "squeue: fatal: Could not establish a configuration source",
        "SOCKET TIMED OUT ON SEND/RECV OPERATION",
    ],
)
def test_words_of_a_slurm_that_is_away_are_no_answer(words: str) -> None:
    slurm = Slurm(lambda *_: completed(1, "", f"{words}\n"), "alice", "login7")
    with pytest.raises(SlurmUnreachable) as caught:
        slurm.ask(["squeue"])
    assert "login7" in str(caught.value)
    assert words in str(caught.value)


def test_a_failure_in_other_words_is_the_callers_to_read() -> None:
    refused = completed(1, "", "salloc: error: Invalid partition name specified\n")
    assert Slurm(lambda *_: refused, "alice", "login").ask(["salloc"]) is refused


def test_a_success_is_an_answer_whatever_it_says() -> None:
    done = completed(0, "", "warning: communication connection failure, retried\n")
    assert Slurm(lambda *_: done, "alice", "login").ask(["squeue"]) is done


def test_this_slurm_is_the_one_of_the_users_own_path(tmp_path: Path) -> None:
    (tmp_path / "squeue").write_text("#!/bin/sh\necho $SQUEUE_FORMAT.$1\n")
    (tmp_path / "squeue").chmod(0o755)
    slurm = this_slurm({"PATH": f"{tmp_path}:/usr/bin:/bin", "SQUEUE_FORMAT": "%i"})
    assert slurm.user == pwd.getpwuid(os.getuid()).pw_name
    assert slurm.ask(["squeue", "x"]).text == ".x\n"


def test_a_host_without_the_command_has_no_slurm() -> None:
    def run(argv: object, timeout_s: float) -> Completed:
        raise CommandMissing(f"scontrol, for {argv} within {timeout_s}")

    with pytest.raises(SlurmMissing) as caught:
        Slurm(run, "alice", "login").ask(["scontrol", "ping"])
    assert str(caught.value) == "`login` has no Slurm: there is no `scontrol` on its PATH"
    assert caught.value.exit_code == 20
    assert not caught.value.retryable
