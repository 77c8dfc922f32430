"""A node with many cores takes little more memory than one with few: a job has its share of that, and not more."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

_FILE_BYTES = 400 << 20
_LIMIT_MIB = 200

# The kernel's own count of this program: `getrusage` has the most that its process had before it was started, too.
_AS_IF = """
import atexit, os, sys
os.sched_getaffinity = lambda _: set(range(64))
from scratchflow.cli.main import main
def tell():
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(int(peak.split()[1]) >> 10, file=sys.stderr)
atexit.register(tell)
sys.exit(main())
"""


@pytest.mark.slow
def test_a_large_file_takes_little_memory_on_64_cores(tmp_path: Path) -> None:
    """Half of what each block holds can be packed, so that frames take memory packed and unpacked."""
    work = tmp_path / "scratch/work"
    work.mkdir(parents=True)
    piece = random.Random(1).randbytes(1 << 20).hex().encode()  # noqa: S311 - the same every time
    with open(work / "large", "wb") as file:
        file.writelines(piece for _ in range(_FILE_BYTES // len(piece)))
    config = tmp_path / "config.toml"
    places = {"scratch": tmp_path / "scratch", "store": tmp_path / "store"}
    lines = [f"{key} = {json.dumps(str(path))}" for key, path in places.items()]
    config.write_text("\n".join(["[profiles.desk]", 'scheduler = "none"', *lines]))

    def peak_mib(*words: str) -> int:
        command = [sys.executable, "-c", _AS_IF, *words, "--config", str(config), "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return int(done.stderr.split()[-1])

    restored = tmp_path / "restored"
    found = {
        "backup": peak_mib("backup"),
        "verify": peak_mib("snapshots", "verify"),
        "restore": peak_mib("restore", "--to", str(restored)),
    }
    assert max(found.values()) < _LIMIT_MIB, found
    with open(work / "large", "rb") as one, open(next(restored.rglob("large")), "rb") as other:
        while content := one.read(1 << 20):
            assert content == other.read(1 << 20)
