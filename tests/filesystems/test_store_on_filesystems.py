"""The store's suites and the oracle on other file systems than this machine's own, as an ordinary user. Needs root to mount."""

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
STORE = ["tests/unit/store/lock/test_lock.py", "tests/unit/store/commit/test_commit.py"]
CRASH = ["tests/crash/store/commit/test_commit_dies_at_each_call.py"]
COMMIT = "test_killed_commit_leaves_previous_snapshot_listed_and_readable"
KILLED = ["tests/crash/store/commit/test_commit_killed_at_random.py"]
# These two share blocks between files.
SHARING = ["tests/unit/archive/restore/test_patch.py"]
# pytest itself cannot keep its temporary directories on sshfs: it cannot read its own links there.
SUITES = {
    "xfs": [TWO_MOUNTS, *STORE, *CRASH, *KILLED, *SHARING],
    "btrfs": [TWO_MOUNTS, *STORE, *CRASH, *KILLED, *SHARING],
    "gluster": [TWO_MOUNTS, *STORE, f"{CRASH[0]}::{COMMIT}"],
    "sshfs": [TWO_MOUNTS],
}
ORACLE = "tests/oracle/test_oracle.py::test_nothing_is_lost_whatever_is_done"
SHIFT = 'set -- $MOUNTS "$@"; mount=$1; shift 2; '
IN_PLACE = SHIFT + 'exec "$@" --basetemp="$mount/base"'
BESIDE = SHIFT + 'exec "$@" --basetemp="${mount%/one}/tmp/base"'
# The stores stay where they are, and show that they were on the mount.
WITH_STORES = SHIFT + (
    'mkdir "$mount/stores"; SCRATCHFLOW_ORACLE_STORES=$mount/stores "$@" && [ -n "$(ls "$mount/stores")" ]'
)
WITH_EVERYTHING = SHIFT + 'mkdir "$mount/all"; TMPDIR=$mount/all exec "$@"'


def run_on(filesystem: str, script: str, *pytest_arguments: str, examples: int = 0) -> None:
    """Runs pytest there as an ordinary user; it must pass."""
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *pytest_arguments]
    ran = subprocess.run(
        [str(ON), filesystem, USER, "sh", "-c", script, "sh", *argv],
        cwd=ROOT,
        env={**os.environ, "SCRATCHFLOW_ORACLE_EXAMPLES": str(examples)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("filesystem", sorted(SUITES))
def test_the_store_keeps_its_promises_on(filesystem: str) -> None:
    run_on(filesystem, BESIDE if filesystem == "sshfs" else IN_PLACE, *SUITES[filesystem])


# Each with a seed of its own. The first example of a seed is always a small one.
@pytest.mark.parametrize(
    ("filesystem", "seed", "examples"),
    [("xfs", 0, 10), ("btrfs", 1, 10), ("gluster", 2, 6), ("sshfs", 3, 6)],
)
def test_nothing_is_lost_with_the_store_on(filesystem: str, seed: int, examples: int) -> None:
    run_on(filesystem, WITH_STORES, f"{ORACLE}[{seed}]", examples=examples)


# Nobody's scratch is over FUSE: sshfs has no extended attributes, and a write through a mapping gets its mtime late.
@pytest.mark.parametrize(("filesystem", "seed", "examples"), [("xfs", 1, 6), ("btrfs", 2, 6)])
def test_nothing_is_lost_with_workspace_and_store_on(
    filesystem: str, seed: int, examples: int
) -> None:
    run_on(filesystem, WITH_EVERYTHING, f"{ORACLE}[{seed}]", examples=examples)
