"""The same tree once more takes an archive without content, and nothing that packs is loaded for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scratchflow.archive.format.tar_headers import END_OF_ARCHIVE
from scratchflow.archive.read.verify import verify_archive
from scratchflow.archive.write.written import write_again
from tests.unit.archive.conftest import Bench, fill


def test_the_same_tree_again_lists_all_and_stores_nothing(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    assert bench.cache
    with bench.path("B").open("wb", buffering=0) as out:
        written = write_again(index, bench.cache, out, archive_id="B")
    assert (written.full, written.changed_files, written.changed_bytes) == (False, 0, 0)
    assert written.needs == ["A"]
    assert written.archive_bytes == bench.path("B").stat().st_size
    assert verify_archive(bench.path("B"), open_archive=bench.path) == []
    restored = bench.restore(written.index)
    compared = subprocess.run(
        ["diff", "-r", "--no-dereference", bench.work, restored / "work"], check=False
    )
    assert compared.returncode == 0
    unpacked = subprocess.run(["lz4", "-dc", bench.path("B")], stdout=subprocess.PIPE, check=True)
    assert unpacked.stdout == END_OF_ARCHIVE


def test_it_loads_no_thread_pool_and_no_packer() -> None:
    script = (
        "import sys; import scratchflow.archive.write.written;"
        "print([name for name in ('concurrent.futures', 'socket', 'scratchflow.archive.write.packer')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[4],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout == b"[]\n"
