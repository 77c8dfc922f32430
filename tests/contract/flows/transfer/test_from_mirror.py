"""`restore --from-mirror` and `snapshots import --from-mirror`, as people type them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.contract.node.mirror.conftest import desk_with, mirror
from tests.mirrors import Directory
from tests.unit.conftest import Desk

# Each starts rclone several times.


def typed(desk: Desk, *words: str) -> subprocess.CompletedProcess[str]:
    config = desk.scratch.parent / "config.toml"
    return subprocess.run(
        [sys.executable, "-m", "scratchflow", "--config", config, *words],
        env={**os.environ, "HOME": str(desk.scratch.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_workspace_and_store_are_gone_and_the_mirror_brings_them_back(tmp_path: Path) -> None:
    desk = desk_with(Directory(tmp_path / "server"), tmp_path / "desk")
    desk.backup()
    desk.write("work/README", "newer")
    desk.backup()
    first, second = desk.ids
    mirror(desk)
    shutil.rmtree(desk.context.store)
    shutil.rmtree(desk.scratch)
    desk.scratch.mkdir()
    done = typed(desk, "restore", "--from-mirror", first)
    assert done.returncode == 0, done.stderr
    assert (desk.work / "README").read_text() == "hello"
    done = typed(desk, "snapshots", "import", "--from-mirror", "--all")
    assert "brought 1 snapshot" in done.stdout
    assert second in desk.ids
    assert typed(desk, "snapshots", "verify").returncode == 0


def test_a_snapshot_that_is_damaged_in_the_store_is_brought_again_and_restored(
    tmp_path: Path,
) -> None:
    desk = desk_with(Directory(tmp_path / "server"), tmp_path / "desk")
    desk.backup()
    mirror(desk)
    archive = desk.place.archive(desk.ids[0])
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.chmod(0o600)
    archive.write_bytes(content)
    assert typed(desk, "snapshots", "verify").returncode == 31
    wanted = desk.content()
    shutil.rmtree(desk.work)
    done = typed(desk, "restore", "--from-mirror", "latest")
    assert done.returncode == 0, done.stderr
    assert "again, because it was damaged in the store" in done.stderr
    assert desk.content() == wanted
    assert typed(desk, "snapshots", "verify").returncode == 0


def test_a_file_and_the_mirror_are_not_mixed_up(tmp_path: Path) -> None:
    desk = desk_with(Directory(tmp_path / "server"), tmp_path / "desk")
    for words in (
        ["snapshots", "import"],
        ["snapshots", "import", "a", "b"],
        ["snapshots", "import", "--all", "a"],
        ["snapshots", "import", "--from-mirror", "--all", "latest"],
        ["restore", "--from-mirror", "--from", "a"],
        ["restore", "--from-mirror", "--dry-run"],
    ):
        assert typed(desk, *words).returncode == 2, words
