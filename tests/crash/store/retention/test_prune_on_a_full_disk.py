"""A store without a free byte, or a free inode, can still be pruned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]

# Runs in a private mount namespace: the small file system vanishes with it.
SCRIPT = r"""
set -eu
top=$1; python=$2; short_of=$3
run() { "$python" -m scratchflow "$@" --json | tail -n 1; }
mkdir -p "$top/scratch/work" "$top/store"
mount -t tmpfs -o size=8m,nr_inodes=300,mode=755 small "$top/store"
for number in 1 2 3 4 5 6; do
    head -c 200000 /dev/urandom > "$top/scratch/work/changing"
    run backup --config "$top/many.toml" > /dev/null
done
if [ "$short_of" = bytes ]; then
    cat /dev/zero > "$top/store/ballast" 2> /dev/null || true
    df -B1 --output=avail "$top/store" | tail -n 1 >&2
else
    for number in $(seq 300); do touch "$top/store/ballast$number" 2> /dev/null || break; done
    df --output=iavail "$top/store" | tail -n 1 >&2
fi
head -c 200000 /dev/urandom > "$top/scratch/work/changing"
run backup --config "$top/many.toml"
mv "$top/store/work/reserve" "$top/store/work/ballast"
run snapshots prune --config "$top/few.toml"
mv "$top/store/work/ballast" "$top/store/work/reserve"
run snapshots prune --config "$top/few.toml"
run snapshots verify --config "$top/few.toml"
run snapshots prune latest --yes --config "$top/few.toml"
run snapshots verify --config "$top/few.toml"
rm -f "$top/store"/ballast*
run backup --config "$top/few.toml"
"""

PROFILE = """[profiles.test]
scheduler = "none"
scratch = "{top}/scratch"
store = "{top}/store"
[profiles.test.backup]
keep_last = {last}
keep_hourly = 0
keep_daily = 0
keep_weekly = 0
"""


@pytest.mark.parametrize("short_of", ["bytes", "inodes"])
def test_a_full_store_is_pruned(tmp_path: Path, short_of: str) -> None:
    for name, last in (("many", 100), ("few", 1)):
        (tmp_path / f"{name}.toml").write_text(PROFILE.format(top=tmp_path, last=last))
    private = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    done = subprocess.run(
        [*private, "sh", "-c", SCRIPT, "sh", str(tmp_path), sys.executable, short_of],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.split()[0] == "0", "the store was not full"
    full, without, pruned, verified, removed, after, backup = map(
        json.loads, done.stdout.splitlines()
    )
    assert (full["type"], full["exit_code"]) == ("error", 33)
    assert (without["code"], without["exit_code"]) == ("disk.no_room_to_prune", 33)
    assert pruned["type"] == "summary", pruned
    assert len(pruned["data"]["removed"]) >= 2
    assert verified["data"]["bad"] == []
    assert len(removed["data"]["removed"]) == 1
    assert after["data"]["bad"] == []
    assert (backup["type"], backup["exit_code"]) == ("summary", 0)
