"""A store or a scratch that fills up: exit 33, and everything that was there is still there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Runs as root of a private mount namespace: the small file systems vanish with it.
SCRIPT = r"""
set -eu
top=$1; python=$2
run() { "$python" -m scratchflow "$@" --json --config "$top/config.toml" | tail -n 1; }
mkdir -p "$top/scratch" "$top/store"
mount -t tmpfs -o size=8m,mode=755 small "$top/store"
mkdir -p "$top/scratch/work"
head -c 3000000 /dev/urandom > "$top/scratch/work/one"
run backup
for try in 1 2 3; do
    head -c 6000000 /dev/urandom > "$top/scratch/work/two"
    run backup
done
ls -A "$top/store/work" >&2
rm "$top/scratch/work/two"
run snapshots verify
echo 'a small change' > "$top/scratch/work/three"
run backup
mount -t tmpfs -o size=1m,mode=755 tiny "$top/other"
printf '[profiles.test]\nscheduler = "none"\nscratch = "%s"\nstore = "%s"\n' \
    "$top/other" "$top/more" > "$top/config.toml"
run create --from "$top/scratch/work"
ls -A "$top/other" >&2
printf '[profiles.test]\nscheduler = "none"\nscratch = "%s"\nstore = "%s"\n' \
    "$top/other" "$top/store" > "$top/config.toml"
run restore
ls -A "$top/other" >&2
"""


def test_a_full_disk_is_exit_33_and_costs_nothing_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "config.toml").write_text(
        '[profiles.test]\nscheduler = "none"\n'
        f'scratch = "{tmp_path}/scratch"\nstore = "{tmp_path}/store"\n'
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(tmp_path), sys.executable],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    first, *full, verified, after, brought, restore = outcomes
    assert (first["type"], first["exit_code"]) == ("summary", 0)
    assert [(one["code"], one["exit_code"]) for one in full] == [("disk.no_space", 33)] * 3
    assert verified["data"] == {"checked": 1, "bad": [], "newer": [], "closed": []}
    assert (after["type"], after["data"]["kind"]) == ("summary", "incremental")
    assert (brought["code"], brought["exit_code"]) == ("disk.target_full", 33)
    assert (restore["code"], restore["exit_code"]) == ("disk.target_full", 33)
    assert "snapshots prune" not in restore["hint"]
    assert ".tmp-" not in done.stderr
    assert done.stderr.splitlines()[-1] == ".scratchflow"


# `doctor` ends with a code of its own when something is amiss.
SAYS_SO = r"""
set -eu
top=$1; python=$2; how=$3
run() { "$python" -m scratchflow "$@" --json --config "$top/config.toml" | tail -n 1; }
mkdir -p "$top/scratch/work" "$top/store"
mount -t tmpfs -o size=8m,mode=755 small "$top/store"
echo one > "$top/scratch/work/one"
run backup
run status
case $how in
    full) head -c 9000000 /dev/urandom > "$top/store/other-peoples" 2>&- || true ;;
    read-only) mount -o remount,ro "$top/store" ;;
esac
echo two > "$top/scratch/work/two"
run backup
run status
run doctor || true
"""


@pytest.mark.parametrize(
    ("how", "code", "hints"),
    [
        ("full", "disk.no_space", ["snapshots prune", "config set store"]),
        ("read-only", "store.unusable", ["read-only", "config set store"]),
    ],
)
def test_status_and_doctor_say_what_a_backup_says_of_a_full_or_read_only_store(
    tmp_path: Path, how: str, code: str, hints: list[str]
) -> None:
    (tmp_path / "config.toml").write_text(
        '[profiles.test]\nscheduler = "none"\n'
        f'scratch = "{tmp_path}/scratch"\nstore = "{tmp_path}/store"\n'
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SAYS_SO, "sh", str(tmp_path), sys.executable, how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, before, failed, status, doctor = map(json.loads, done.stdout.splitlines())
    assert (first["exit_code"], before["data"]["problems"]) == (0, [])
    assert failed["code"] == code
    (problem,) = [one for one in status["data"]["problems"] if one["name"] == code]
    (check,) = [one for one in doctor["data"]["checks"] if one["name"] == "store"]
    assert failed["hint"] == problem["fix"] == check["fix"]
    places = [failed["hint"].find(words) for words in hints]
    assert -1 not in places
    assert places == sorted(places)
