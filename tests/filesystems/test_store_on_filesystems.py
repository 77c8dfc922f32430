"""The store's suites on other file systems than this machine's own, as an ordinary user. Needs root to mount."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ON = ROOT / "tests/filesystems/on"
USER = os.environ.get("SCRATCHFLOW_TEST_USER", "nobody")
TWO_MOUNTS = "tests/filesystems/suite"
STORE = ["tests/unit/store/test_lock.py", "tests/unit/store/test_commit.py"]
CRASH = ["tests/crash/store/test_commit_dies_at_each_call.py"]
COMMIT = "test_killed_commit_leaves_previous_snapshot_listed_and_readable"
KILLED = ["tests/crash/store/test_commit_killed_at_random.py"]
# pytest itself cannot keep its temporary directories on sshfs: it cannot read its own links there.
SUITES = {
    "xfs": [TWO_MOUNTS, *STORE, *CRASH, *KILLED],
    "btrfs": [TWO_MOUNTS, *STORE, *CRASH, *KILLED],
    "gluster": [TWO_MOUNTS, *STORE, f"{CRASH[0]}::{COMMIT}"],
    "sshfs": [TWO_MOUNTS],
}
IN_PLACE = 'set -- $MOUNTS "$@"; mount=$1; shift 2; exec "$@" --basetemp="$mount/base"'
ANYWHERE = 'exec "$@"'


@pytest.mark.parametrize("filesystem", sorted(SUITES))
def test_the_store_keeps_its_promises_on(filesystem: str) -> None:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SUITES[filesystem]]
    script = ANYWHERE if filesystem == "sshfs" else IN_PLACE
    ran = subprocess.run(
        [str(ON), filesystem, USER, "sh", "-c", script, "sh", *argv],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
