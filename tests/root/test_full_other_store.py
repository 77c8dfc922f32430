"""`snapshots copy` into a store that is full, for real: a small tmpfs in a mount namespace of its own.

Run as a script inside that namespace, this file does the trial and prints what happened.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from scratchflow.model.errors.store import NoSpace
from scratchflow.node.history.verification import verify_snapshots
from tests.unit.conftest import Desk
from tests.unit.flows.transfer.conftest import Two


def test_a_full_store_there_is_said_costs_nothing_and_is_completed_when_there_is_room(
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
    assert "there" in seen["error"]
    assert "`scratchflow -p there snapshots prune`" in seen["hint"]
    assert seen["there_when_full"] == seen["taken"][:1]
    assert seen["bad_when_full"] == []
    assert seen["there_at_last"] == seen["taken"]
    assert seen["bad_at_last"] == []
    assert seen["left_when_full"] == []  # the room that there was is still there


def trial(directory: Path) -> dict[str, object]:
    """One snapshot fits, the next does not, then there is room."""
    two = Two(directory)
    store = directory / "there/store"
    store.mkdir(mode=0o700, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M,mode=700", "t", str(store)], check=True)
    two.here.write("work/README", "small")
    two.here.backup()
    two.copy()
    two.here.write("work/large", os.urandom(8 << 20))
    two.here.backup()
    error, hint = "", ""
    try:
        two.copy()
    except NoSpace as full:
        error, hint = str(full), full.shown_hint
    left_when_full = os.listdir(two.there.place.arriving)
    there_when_full, bad_when_full = two.there.ids, bad(two.here) + bad(two.there)
    subprocess.run(["mount", "-o", "remount,size=40M", str(store)], check=True)
    two.copy()
    return {
        "error": error,
        "hint": hint,
        "there_when_full": there_when_full,
        "bad_when_full": bad_when_full,
        "there_at_last": two.there.ids,
        "bad_at_last": bad(two.here) + bad(two.there),
        "left_when_full": left_when_full,
        "taken": two.here.ids,
    }


def bad(desk: Desk) -> list[str]:
    return [str(one) for one in verify_snapshots(desk.context, desk.notify, []).bad]


if __name__ == "__main__":
    json.dump(trial(Path(sys.argv[1])), sys.stdout)
