"""A store that is full, for real: a small tmpfs in a mount namespace of its own.

Run as a script inside that namespace, this file does the trials and prints what happened.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.model.errors.store import NoSpace
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.testing.store import commit_bytes, make_id, make_lock, verify_archive

PAGE = 4096
TRIALS = 120
CONTENT = b"x" * (100 * PAGE)


@pytest.mark.parametrize("short_of", ["pages", "inodes"])
def test_a_store_full_at_any_byte_is_exit_33_and_costs_no_snapshot(
    tmp_path: Path, short_of: str
) -> None:
    command = ["unshare", "-m", sys.executable, __file__, str(tmp_path), short_of]
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen["full"] >= (100 if short_of == "pages" else 2)
    assert seen["fitted"] >= 1


def trials(mount: Path, short_of: str) -> dict[str, int]:
    mount_tmpfs(mount)
    place = open_place(mount / "store", "work")
    with make_lock(place).acquired() as lock:
        before = commit_bytes(lock, make_id(), b"before")
    seen = {"full": 0, "fitted": 0}
    for free in range(TRIALS):
        ballast = fill_up_to(mount, free, short_of)
        outcome = back_up_on_full_disk(place, free + 1)
        seen[outcome] += 1
        verify_archive(place, before)
        listed = read_catalogue(place)
        assert listed.damaged == {}
        assert listed.snapshots[0] == before
        # Checked while still full: no litter, and no lock left behind.
        expected = {f"{one.id}{end}" for one in listed.snapshots for end in (".json", ".tar.lz4")}
        assert set(os.listdir(place.directory)) == expected, (free, os.listdir(place.directory))
        for path in [*ballast, *(place.archive(one.id) for one in listed.snapshots[1:])]:
            path.unlink()
        for one in listed.snapshots[1:]:
            place.manifest(one.id).unlink()
    return seen


def back_up_on_full_disk(place: StoreDirectory, number: int) -> str:
    try:
        with make_lock(place).acquired() as lock:
            commit_bytes(lock, make_id(number), CONTENT)
    except NoSpace:  # exit code 33
        return "full"
    return "fitted"


def mount_tmpfs(mount: Path) -> None:
    options = f"size={PAGE * 400},nr_inodes=200,mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(mount)], check=True)


def fill_up_to(mount: Path, free: int, short_of: str) -> list[Path]:
    """Leaves that many free pages or inodes."""
    found = os.statvfs(mount)
    if short_of == "inodes":
        paths = [mount / f"ballast{number}" for number in range(found.f_ffree - free)]
        for path in paths:
            path.touch()
        return paths
    ballast = mount / "ballast"
    ballast.write_bytes(b"x" * PAGE * max(0, found.f_bavail - free))
    return [ballast]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(trials(Path(sys.argv[1]), sys.argv[2])))
