"""A desk whose store has a mirror, behind each of the servers, or in a directory of this machine."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.model.requests import DryRun
from scratchflow.model.results.transfer import SnapshotsMirrored
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.mirror.send import mirror_snapshots
from tests.mirrors import SERVED, Directory, Server
from tests.unit.conftest import Desk, make_desk

# More than the buffers of a connection hold.
LARGE_BYTES = 24 << 20


# What differs between servers is tried in tests/contract/cluster/rclone, each time.
@pytest.fixture(params=["sftp", pytest.param("webdav", marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """One after the other."""
    one = SERVED[request.param](tmp_path / "server")
    one.start()
    yield one
    one.kill()


@pytest.fixture
def directory(tmp_path: Path) -> Server:
    """A mirror on another disk: the quickest, for what depends on no server."""
    return Directory(tmp_path / "server")


def desk_with(server: Server, directory: Path) -> Desk:
    """With two files in its workspace, and this mirror."""
    directory.mkdir()
    remote = server.remote.replace('"', '\\"')
    desk = make_desk(directory, f'[profiles.test.backup]\nmirror = "{remote}"\n')
    desk.write("work/README", "hello")
    desk.write("work/data.bin", random.Random(1).randbytes(100_000))  # noqa: S311 - data
    return desk


def mirror(desk: Desk) -> SnapshotsMirrored:
    return mirror_snapshots(desk.context, desk.notify, DryRun())


def mirror_files(server: Server) -> Path:
    """Where the files of the mirror lie on its server."""
    return server.files / "mirror/work"


def whole_on(server: Server, scrap: Path) -> list[str]:
    """The snapshots of the mirror, looked at by themselves as a store; every byte of them was read and is right."""
    if scrap.exists():
        shutil.rmtree(scrap)
    scrap.mkdir()
    alone = make_desk(scrap)
    if mirror_files(server).exists():
        alone.context.store.mkdir()
        shutil.copytree(mirror_files(server), alone.context.store / "work")
        os.chmod(alone.context.store / "work", 0o700)
    assert verify_snapshots(alone.context, alone.notify, []).bad == []
    return alone.ids
