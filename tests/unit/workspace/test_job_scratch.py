"""Where a job has its scratch is noted for that job alone, and which scratch goes with its job is known."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.workspace.job_scratch import (
    JobScratch,
    forget_scratch,
    goes_with_job,
    note_scratch,
    noted_scratch,
)

TMPDIR = "$SLURM_TMPDIR"
FOUND = JobScratch(job_id=7, node="n1", written=TMPDIR, path="/local/alice.7.0")


def test_what_is_noted_holds_for_this_job_this_node_and_this_name(tmp_path: Path) -> None:
    note_scratch(tmp_path, "aws", FOUND)
    assert noted_scratch(tmp_path, "aws", TMPDIR, 7, "n1") == "/local/alice.7.0"
    for profile, written, job, node in [
        ("other", TMPDIR, 7, "n1"),
        ("aws", "$TMPDIR", 7, "n1"),
        ("aws", TMPDIR, 8, "n1"),
        ("aws", TMPDIR, None, "n1"),
        ("aws", TMPDIR, 7, "n2"),
    ]:
        assert noted_scratch(tmp_path, profile, written, job, node) == ""
    forget_scratch(tmp_path, "aws", 7)
    forget_scratch(tmp_path, "aws", 7)
    assert noted_scratch(tmp_path, "aws", TMPDIR, 7, "n1") == ""


def test_each_node_of_a_job_has_its_own(tmp_path: Path) -> None:
    other = JobScratch(job_id=7, node="n2/../x", written=TMPDIR, path="/elsewhere")
    for found in (FOUND, other):
        note_scratch(tmp_path, "aws", found)
    for found in (FOUND, other):
        assert noted_scratch(tmp_path, "aws", TMPDIR, 7, found.node) == found.path
    forget_scratch(tmp_path, "aws", 7)
    assert noted_scratch(tmp_path, "aws", TMPDIR, 7, "n1") == ""


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"job_id":7,"node":"n1","written":"$SLURM_TMPDIR","path":"x"}']
)
def test_a_note_that_says_nothing_useful_is_none(tmp_path: Path, content: bytes) -> None:
    note_scratch(tmp_path, "aws", FOUND)
    (file,) = tmp_path.rglob("aws-7-n1.json")
    file.write_bytes(content)
    assert noted_scratch(tmp_path, "aws", TMPDIR, 7, "n1") == ""


def test_notes_of_jobs_long_gone_are_removed(tmp_path: Path) -> None:
    note_scratch(tmp_path, "aws", FOUND)
    (file,) = tmp_path.rglob("aws-7-n1.json")
    long_ago = time.time() - 40 * 86400
    os.utime(file, (long_ago, long_ago))
    note_scratch(tmp_path, "aws", JobScratch(job_id=8, node="n1", written=TMPDIR, path="/x"))
    assert [one.name for one in tmp_path.rglob("*.json")] == ["aws-8-n1.json"]


@pytest.mark.parametrize(
    ("written", "path", "job_id", "goes"),
    [
        (TMPDIR, "/local/alice.7.0", 7, True),
        ("${SLURM_TMPDIR}/x", "/local/x", None, True),
        ("$TMPDIR", "/tmp/job.7", 7, True),
        ("$TMPDIR", "/tmp/job.77", 7, False),
        ("$TMPDIR", "/tmp", 7, False),
        ("/scratch/$USER", "/scratch/alice", 7, False),
        ("/scratch/7", "/scratch/7", 7, False),
        ("/scratch/$USER", "/scratch/ada7", 7, False),
        ("~/s", "/home/ada7/s", 7, False),
        ("$LOCAL/$USER", "/local/ada", None, False),
    ],
)
def test_a_directory_that_is_named_after_its_job_goes_with_it(
    written: str, path: str, job_id: int | None, goes: bool
) -> None:
    assert goes_with_job(written, path, job_id) is goes


def test_files_of_the_profile_local_are_never_taken_for_old_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its scratch is in the same directory of the same home."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / ".local/share"))
    scratch = Path(load_settings(Asked(profile="local"), {}).profile.scratch)
    scratch.mkdir(parents=True)
    theirs = scratch / "kept-for-a-year.json"
    theirs.write_text("{}")
    os.utime(theirs, (0, 0))
    note_scratch(tmp_path, "aws", FOUND)
    assert theirs.exists()
