"""A backup starts what sends it to the mirror, and neither waits for it nor fails with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from scratchflow.store.mirror import read_state
from tests.contract.node.mirror.conftest import desk_with, mirror_files, whole_on
from tests.mirrors import Directory
from tests.unit.conftest import Desk

# Each starts rclone several times.

UP_S = 60.0


def backup(desk: Desk, **variables: str) -> None:
    """As people type it."""
    config = desk.scratch.parent / "config.toml"
    subprocess.run(
        [sys.executable, "-m", "scratchflow", "--config", config, "backup"],
        env={**os.environ, "HOME": str(desk.scratch.parent), **variables},
        check=True,
        capture_output=True,
    )


def keeper_of(desk: Desk) -> int | None:
    """The process that keeps the mirror; None when there is none."""
    owner = desk.place.directory / "mirror/keeper/lock.d/owner.json"
    with suppress(FileNotFoundError, ValueError):
        return int(json.loads(owner.read_bytes())["pid"])
    return None


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + UP_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_each_backup_arrives_by_itself_and_nothing_is_left_running(tmp_path: Path) -> None:
    server = Directory(tmp_path / "server")
    desk = desk_with(server, tmp_path / "desk")
    for text in ("first", "second"):
        desk.write("work/README", text)
        backup(desk)
        manifest = mirror_files(server) / f"{desk.ids[-1]}.json"
        wait_until(manifest.exists)
        wait_until(lambda: keeper_of(desk) is None)
    assert whole_on(server, tmp_path / "alone") == desk.ids


def test_a_mirror_that_cannot_be_written_to_fails_no_backup(tmp_path: Path) -> None:
    server = Directory(tmp_path / "server")
    (server.files / "mirror").write_text("a file where the directory should be")
    desk = desk_with(server, tmp_path / "desk")
    mirror = desk.context.profile.backup.mirror
    backup(desk)
    wait_until(lambda: bool(read_state(desk.place, mirror).error))
    try:
        desk.write("work/README", "backups go on")
        backup(desk)
        assert len(desk.ids) == 2
    finally:
        keeper = keeper_of(desk)
        assert keeper
        os.kill(keeper, signal.SIGKILL)
    # Killed while it waited: the next backup starts another one.
    (server.files / "mirror").unlink()
    desk.write("work/README", "and on")
    backup(desk)
    wait_until(lambda: read_state(desk.place, mirror).there == desk.ids)
    wait_until(lambda: keeper_of(desk) is None)
    assert whole_on(server, tmp_path / "alone") == desk.ids
