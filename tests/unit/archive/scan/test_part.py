"""What a walk found comes out of another process as it went in, and its columns hold every time."""

from __future__ import annotations

import errno
import marshal
import os
from pathlib import Path

import pytest

from scratchflow.archive.scan.part import Part, clamped_ns
from scratchflow.model.errors.workspace import LimitReached


def _part_of(directory: Path) -> Part:
    part = Part()
    names = sorted(os.listdir(os.fsencode(directory)))
    part.add_group(names, [os.lstat(os.fsencode(directory) + b"/" + name) for name in names])
    return part


def test_a_part_is_the_same_after_marshal(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "directory").mkdir()
    part = _part_of(tmp_path)
    part.symlinks.append(2)
    part.targets.append(b"file")
    part.linked.append((1, 7, 8))
    part.warnings.append(("files.skipped", b"work/x", "is a FIFO"))
    part.settle()
    again = Part.loaded(marshal.loads(marshal.dumps(part.dumped())))  # noqa: S302 - our own
    assert list(again.names) == [b"directory", b"file", b"link"]
    assert list(again.size) == [0, 5, 0]  # of files only
    assert again.dumped() == part.dumped()


def test_columns_are_filled_by_and_by_and_the_length_counts_what_waits(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    part = Part()
    found = os.lstat(tmp_path / "file")
    for count in range(1, 1000):
        part.add_group([b"file"], [found])
        assert len(part) == count
    assert not part.mode
    part.add_group([b"file"], [found])
    assert len(part) == len(part.mode) == 1000
    assert list(part.children) == [1] * 1000


def test_times_outside_the_columns_are_kept_at_the_edge() -> None:
    assert clamped_ns(5) == 5
    assert clamped_ns(1 << 70) == (1 << 63) - 1
    assert clamped_ns(-(1 << 70)) == -(1 << 63) + 1


def test_what_is_gone_is_no_warning_and_what_this_process_lacks_ends_it() -> None:
    part = Part()
    part.warn_unreadable(b"gone", FileNotFoundError(errno.ENOENT, "No such file"))
    assert not part.warnings
    part.warn_unreadable(b"closed", PermissionError(errno.EACCES, "Permission denied"))
    assert part.warnings == [("files.unreadable", b"closed", "cannot be read: Permission denied")]
    with pytest.raises(LimitReached):
        part.warn_unreadable(b"many", OSError(errno.EMFILE, "Too many open files"))
