"""A walk notes everything that can be saved, names what cannot, and needs little for it."""

from __future__ import annotations

import os
import resource
import socket
import subprocess

import pytest

from scratchflow.archive.scan.scan import ScannedTree
from tests.unit.archive.conftest import Bench, fill


def _paths(scanned: ScannedTree) -> set[str]:
    return {os.fsdecode(scanned.path(entry)) for entry in range(len(scanned))}


def test_finds_everything_once_and_in_order(bench: Bench) -> None:
    fill(bench.work)
    scanned = bench.scan()
    walked = {
        os.path.relpath(os.path.join(top, name), bench.scratch)
        for top, dirs, files in os.walk(bench.scratch)
        for name in dirs + files
    }
    assert _paths(scanned) == walked
    assert len(scanned) == len(walked)
    for entry in range(len(scanned)):
        assert scanned.find(scanned.path(entry)) == entry
    assert scanned.find(b"work/none") is None
    assert scanned.find(b"work/data/beneath-a-file") is None
    for group, prefix in scanned.groups():
        assert prefix == (scanned.group_path(group) + b"/" if group else b"")


def test_sockets_and_fifos_are_skipped_with_a_warning(bench: Bench) -> None:
    os.mkfifo(bench.work / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(bench.work, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{here}/sock")
        os.close(here)
        scanned = bench.scan()
    assert _paths(scanned) == {"work"}
    assert sorted(bench.warnings) == [
        ("files.skipped", b"work/fifo", "is a FIFO, which is not saved"),
        ("files.skipped", b"work/sock", "is a socket, which is not saved"),
    ]


@pytest.mark.slow
def test_deep_bushy_tree_needs_few_descriptors(bench: Bench) -> None:
    descriptor = os.open(bench.work, os.O_RDONLY)
    for _ in range(300):
        for name in ("a", "m", "z"):
            os.mkdir(name, dir_fd=descriptor)
        inside = os.open("m", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inside
    os.close(descriptor)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (160, hard))
    try:
        index = bench.backup("A")
        restored = bench.restore(index)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(index) == 901
    assert bench.warnings == []
    subprocess.run(["rm", "-rf", bench.work, restored], check=True)
