"""`sync` with a home that is full, for real: a small tmpfs in a mount namespace of its own.

Run as a script inside that namespace, this file does the trial and prints what happened.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from scratchflow.model.errors.sync import SyncHomeFull
from scratchflow.model.events import Warned
from scratchflow.model.results.sync import Synced, SyncedPair
from tests.unit.flows.sync.conftest import TwoHomes, content_of, written


@pytest.mark.parametrize("full", ["uni", "aws"])
def test_the_profile_whose_home_is_full_is_named_and_the_next_sync_goes_on(
    tmp_path: Path, full: str
) -> None:
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        ["unshare", "-m", sys.executable, __file__, str(tmp_path), full],
        check=False,
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen["partly"] == [[full], 33]
    assert f"the home of profile `{full}` is full" in seen["warned"]
    assert f"the home of profile `{full}` is full" in seen["gave_up"]
    assert seen["same_at_last"]


def _mounted(directory: Path, size: str, *options: str) -> None:
    words = ["mount", "-t", "tmpfs", "-o", ",".join([f"size={size}", *options])]
    subprocess.run([*words, "small", str(directory)], check=True)


def _exit_code(pair: SyncedPair) -> int:
    return Synced(first="uni", folders=["p"], pairs=[pair]).exit_code()


def _try(directory: Path, full: str) -> dict[str, object]:
    homes = TwoHomes(directory)
    small, large = (homes.uni, homes.aws) if full == "uni" else (homes.aws, homes.uni)
    _mounted(small, "600k")
    written(homes.uni, {"p/a": "1"})
    homes.sync()
    written(large, {f"p/d/{number}": "x" * 60_000 for number in range(20)})
    partly = homes.sync()
    warned = [one.message for one in homes.events if isinstance(one, Warned)]
    written(large, {"p/large": "x" * 900_000, "p/small": "x"})
    with suppress(OSError), (small / "fill").open("wb", buffering=0) as fill:
        while True:
            fill.write(b"x" * 4096)
    with pytest.raises(SyncHomeFull) as gave_up:
        homes.sync()
    (small / "fill").unlink()
    _mounted(small, "16m", "remount")
    homes.sync()
    return {
        "partly": [partly.full_homes, _exit_code(partly)],
        "warned": "\n".join(warned),
        "gave_up": str(gave_up.value),
        "same_at_last": content_of(homes.uni / "p") == content_of(homes.aws / "p"),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_try(Path(sys.argv[1]), sys.argv[2])))
