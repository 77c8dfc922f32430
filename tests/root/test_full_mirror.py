"""A mirror that is full, for real: a small tmpfs in a mount namespace of its own.

Run as a script inside that namespace, this file does the trial and prints what happened.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from scratchflow.model.errors.transfer import MirrorFailed
from scratchflow.store.mirror import read_state
from tests.contract.node.mirror.conftest import desk_with, mirror, whole_on
from tests.mirrors import Directory


def test_a_full_mirror_is_noted_costs_nothing_and_is_completed_when_there_is_room(
    tmp_path: Path,
) -> None:
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        ["unshare", "-m", sys.executable, __file__, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert "disk space" in seen["error"]
    assert seen["there_when_full"] == seen["whole_when_full"] == seen["taken"][:1]
    assert seen["whole_at_last"] == seen["taken"]


def trial(directory: Path) -> dict[str, object]:
    """One snapshot fits, the next does not, and backups go on."""
    server = Directory(directory / "server")
    mount = ["mount", "-t", "tmpfs", "-o", "size=2M", "tmpfs", str(server.files)]
    subprocess.run(mount, check=True)
    desk = desk_with(server, directory / "desk")
    desk.backup()
    mirror(desk)
    desk.write("work/large", os.urandom(4 << 20))
    desk.backup()
    error = ""
    try:
        mirror(desk)
    except MirrorFailed as failed:
        error = str(failed)
    full = read_state(desk.place, desk.context.profile.backup.mirror)
    whole_when_full = whole_on(server, directory / "alone")
    desk.write("work/README", "backups go on")
    desk.backup()
    subprocess.run(["mount", "-o", "remount,size=20M", str(server.files)], check=True)
    mirror(desk)
    return {
        "error": error and full.error,
        "there_when_full": full.there,
        "whole_when_full": whole_when_full,
        "whole_at_last": whole_on(server, directory / "alone"),
        "taken": desk.ids,
    }


if __name__ == "__main__":
    json.dump(trial(Path(sys.argv[1])), sys.stdout)
