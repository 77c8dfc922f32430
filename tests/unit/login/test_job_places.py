"""What a running job and Slurm's own files tell of scratch on the nodes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.login.job_places import (
    _PROBE,
    named_places,
    places_in_job,
    tmpdir_prolog,
)
from scratchflow.testing.slurm import FakeSlurm


def test_without_a_running_job_nothing_is_started() -> None:
    slurm = FakeSlurm()
    assert places_in_job(Slurm(slurm, "alice", "login")) == (None, [])


def test_network_file_systems_memory_and_what_all_share_are_passed_over() -> None:
    rows = [
        "hello | from the profile",
        "scratchflow-place|$SLURM_TMPDIR|/local/7|tmpfs|9",
        "scratchflow-place|/scratch/$USER|/scratch/al|lustre|9",
        "scratchflow-place|$TMPDIR|/tmp/|xfs|9",
        "scratchflow-place|/elsewhere|/elsewhere|xfs|9",
        "scratchflow-place|/localscratch/$USER|/localscratch/al|ext4|2",
        "scratchflow-place|/local/$USER|/local/al|ext4|?",
    ]
    (place,) = named_places("\n".join(rows))
    assert (place.path, place.file_system) == ("/localscratch/$USER", "ext4")
    assert place.free_bytes == 2048


def test_the_probe_tells_what_is_set_there_and_writable(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    names = {
        "SLURM_TMPDIR": f"{tmp_path}/not/made yet",
        "CLOSED": f"{tmp_path}/closed",
        "RELATIVE": "a",
    }
    written = ["$SLURM_TMPDIR", "$UNSET_NAME", "$CLOSED", "$RELATIVE", "/nowhere/$USER"]
    done = subprocess.run(
        ["sh", "-c", _PROBE, "sh", *written],
        env={"PATH": "/usr/bin:/bin", "USER": "al", **names},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert line.split("|")[:3] == ["scratchflow-place", "$SLURM_TMPDIR", f"{tmp_path}/not/made yet"]
    assert line.split("|")[4].isdigit()


@pytest.mark.parametrize(
    ("content", "sets"),
    [("echo export SLURM_TMPDIR=/local/$SLURM_JOB_ID\n", True), ("echo print hello\n", False)],
)
def test_a_prolog_that_names_the_jobs_directory_is_found(
    tmp_path: Path, content: str, sets: bool
) -> None:
    script = tmp_path / "prolog"
    script.write_text(content)
    assert tmpdir_prolog({"TaskProlog": str(script)}) == (str(script) if sets else "")
    assert tmpdir_prolog({"TaskProlog": "(null)"}) == ""
    assert tmpdir_prolog({"TaskProlog": str(tmp_path / "missing")}) == ""
