"""Extended attributes come back also when nothing else differs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.conftest import Desk


def attributes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path) if name[:5] == "user."}


@pytest.mark.parametrize("mode", [0o644, 0o444])
@pytest.mark.parametrize("saved_first", [True, False])
@pytest.mark.parametrize("then", [{}, {"user.a": b"1"}, {"user.a": b"1", "user.b": b"2"}])
@pytest.mark.parametrize("now", [{}, {"user.a": b"other"}, {"user.c": b"3"}])
def test_a_difference_in_attributes_alone_is_restored(
    desk: Desk, mode: int, saved_first: bool, then: dict[str, bytes], now: dict[str, bytes]
) -> None:
    file = desk.work / "README"
    _set(file, then)
    file.chmod(mode)
    first = str(desk.backup().snapshot)
    stats = file.stat()
    file.chmod(0o644)
    _set(file, now)
    file.chmod(mode)
    if saved_first:
        desk.backup()
    restored = desk.restore(first)
    assert attributes(file) == then
    after = file.stat()
    assert (after.st_mode, after.st_mtime_ns) == (stats.st_mode, stats.st_mtime_ns)
    assert (restored.mode == "delta") == (then != now)
    assert file.read_text() == "hello"
    assert desk.backup().kind == "unchanged"


def _set(file: Path, wanted: dict[str, bytes]) -> None:
    for name in attributes(file):
        os.removexattr(file, name)
    for name, value in wanted.items():
        os.setxattr(file, name, value)


def test_a_file_that_may_not_be_written_comes_back_with_its_attributes(
    desk: Desk, tmp_path: Path
) -> None:
    file = desk.work / "README"
    os.setxattr(file, "user.a", b"1")
    file.chmod(0o444)
    desk.backup()
    desk.restore(to=tmp_path / "x")
    assert attributes(tmp_path / "x/work/README") == {"user.a": b"1"}
    assert (tmp_path / "x/work/README").stat().st_mode & 0o777 == 0o444
