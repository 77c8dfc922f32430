"""`restore --from-mirror` and `snapshots import --from-mirror`, as people type them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.contract.node.mirror.conftest import desk_with, mirror, mirror_files
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


def test_what_is_left_out_in_either_direction_shows_in_the_exit_code(tmp_path: Path) -> None:
    server = Directory(tmp_path / "server")
    desk = desk_with(server, tmp_path / "desk")
    snapshot = desk.backup().snapshot or ""
    mirror(desk)
    archive = mirror_files(server) / f"{snapshot}.tar.lz4"
    archive.write_bytes(b"short")
    sent = typed(desk, "snapshots", "mirror")
    assert (sent.returncode, sent.stderr) == (31, "")
    assert f"rclone deletefile {archive}" in sent.stdout
    shutil.rmtree(desk.context.store)
    brought = typed(desk, "snapshots", "import", "--from-mirror", "--all")
    assert brought.returncode == 31
    assert "not brought" in brought.stdout
    named = typed(desk, "--json", "snapshots", "import", "--from-mirror", snapshot)
    assert named.returncode == 31
    last = json.loads(named.stdout.splitlines()[-1])
    assert last["code"] == "snapshot.damaged_on_mirror"
    assert last["op"] == "snapshots import from-mirror"
