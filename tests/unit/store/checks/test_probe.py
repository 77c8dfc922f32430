"""What the store's file system lacks is found by trying, and told in words."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from scratchflow.store.checks.probe import probe_store


def refuse(number: int) -> object:
    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return refused


def test_a_plain_directory_has_what_safety_needs_and_stays_empty(tmp_path: Path) -> None:
    found = probe_store(tmp_path)
    assert found.is_safe
    assert found.hard_links
    assert os.listdir(tmp_path) == []


def test_no_hard_links_is_told_and_not_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    found = probe_store(tmp_path)
    assert found.is_safe
    assert any("no hard links" in words for words in found.limits())


def test_a_rename_that_moves_a_full_directory_away_is_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What sshfs does with `-o workaround=rename`."""
    rename = os.rename

    def overwrite(source: Path, target: Path) -> None:
        if os.path.isdir(target):
            rename(target, f"{target}-away")
        rename(source, target)

    monkeypatch.setattr(os, "rename", overwrite)
    found = probe_store(tmp_path)
    assert not found.is_safe
    assert "two backups at once" in found.dangers()[0]


def test_a_rename_that_leaves_a_moment_without_the_file_is_told_and_not_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def unlink_first(source: Path, target: Path) -> None:
        os.unlink(target)
        time.sleep(0.01)
        replace(source, target)

    monkeypatch.setattr(os, "replace", unlink_first)
    found = probe_store(tmp_path)
    assert found.is_safe
    assert any("a moment without the file" in words for words in found.limits())


def test_directories_that_cannot_be_synced_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", refuse(errno.EINVAL))
    assert any("power cut" in words for words in probe_store(tmp_path).limits())


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        probe_store(tmp_path / "missing")
