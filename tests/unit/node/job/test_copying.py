"""A copy is whole, has the file's time, and takes no more room than the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.node.job.copying import copy_whole, stamp_of

HOLE = 8 << 20


def write_sparse(path: Path, *, data_at: tuple[int, ...], size: int) -> bytes:
    """A file with holes; its whole content."""
    with path.open("wb") as file:
        for offset in data_at:
            file.seek(offset)
            file.write(b"data")
        file.truncate(size)
    return path.read_bytes()


@pytest.mark.parametrize("data_at", [(), (0,), (HOLE,), (0, HOLE, 2 * HOLE - 4)])
def test_holes_stay_holes(tmp_path: Path, data_at: tuple[int, ...]) -> None:
    source, target = tmp_path / "sparse", tmp_path / "store/sparse"
    content = write_sparse(source, data_at=data_at, size=2 * HOLE)
    if source.stat().st_blocks * 512 >= HOLE:
        pytest.skip("this file system keeps no holes")
    copy_whole(source, target)
    assert target.read_bytes() == content
    assert target.stat().st_blocks * 512 < HOLE


def test_what_is_appended_while_a_file_with_holes_is_copied_is_behind_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "sparse", tmp_path / "copy"
    content = write_sparse(source, data_at=(HOLE,), size=2 * HOLE)
    real = os.fchmod

    def grows(descriptor: int, mode: int) -> None:  # between the look at its size and its end
        real(descriptor, mode)
        with source.open("ab") as file:
            file.write(b"more")

    monkeypatch.setattr(os, "fchmod", grows)
    copy_whole(source, target)
    assert target.read_bytes() == content + b"more"


def test_a_file_keeps_its_time_and_whether_it_is_a_program_and_is_nobody_elses(
    tmp_path: Path,
) -> None:
    source, target = tmp_path / "program", tmp_path / "a/b/program"
    source.write_bytes(b"#!/bin/sh\n")
    source.chmod(0o755)
    os.utime(source, ns=(5, 7))
    stamp = copy_whole(source, target)
    assert (target.read_bytes(), target.stat().st_mtime_ns) == (b"#!/bin/sh\n", 7)
    assert target.stat().st_mode & 0o777 == 0o700
    assert stamp[:4] == stamp_of(source.stat())[:4]
    assert [path.name for path in target.parent.iterdir()] == ["program"]


def test_a_link_is_copied_as_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/nowhere")
    copy_whole(tmp_path / "link", tmp_path / "copy")
    assert os.readlink(tmp_path / "copy") == "/nowhere"
