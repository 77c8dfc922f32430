"""Files that only save time are whole or not there, and nobody else may read them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from scratchflow.disk.memo import write_memo


def test_a_memo_is_replaced_whole_in_directories_of_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "profiles" / "a.json"
    for content in (b"first", b"second"):
        write_memo(str(path), content)
        assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["a.json"]


def test_a_memo_that_cannot_be_written_leaves_the_old_one_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memo"
    write_memo(str(path), b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_memo(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["memo"]


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"somebody's")
    (tmp_path / "memo").symlink_to(other)
    write_memo(str(tmp_path / "memo"), b"ours")
    assert other.read_bytes() == b"somebody's"
    assert not (tmp_path / "memo").is_symlink()
