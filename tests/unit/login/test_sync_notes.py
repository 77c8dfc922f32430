"""What is noted for the next sync, in the first home."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from scratchflow.config.settings import given_settings
from scratchflow.login import sync_notes as module
from scratchflow.login.host import LoginHost
from scratchflow.login.sync_notes import note_again, notes_directory, read_notes
from scratchflow.model.errors.sync import SyncHomeFull
from scratchflow.model.requests import SyncNote


def at(home: Path) -> LoginHost:
    return LoginHost(given_settings("uni", {}, "test"), {"HOME": str(home)}, lambda _: None)


def test_each_profile_has_its_own_until_it_is_empty(tmp_path: Path) -> None:
    home = at(tmp_path)
    assert read_notes(tmp_path) == {}
    assert note_again(home, SyncNote(other="aws", paths=("p/a", "p/b"))).paths == 2
    note_again(home, SyncNote(other="../uni", paths=("p",)))
    assert read_notes(tmp_path) == {"aws": ["p/a", "p/b"], "../uni": ["p"]}
    note_again(home, SyncNote(other="aws"))
    assert read_notes(tmp_path) == {"../uni": ["p"]}
    assert [file.name for file in notes_directory(tmp_path).iterdir()] == ["again.json"]


def test_what_is_no_note_is_none(tmp_path: Path) -> None:
    notes_directory(tmp_path).mkdir(parents=True)
    (notes_directory(tmp_path) / "again.json").write_text("{")
    assert read_notes(tmp_path) == {}
    note_again(at(tmp_path), SyncNote(other="aws", paths=("p",)))
    assert read_notes(tmp_path) == {"aws": ["p"]}


def test_a_home_without_room_for_a_note_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(module, "replace_file", full)
    with pytest.raises(SyncHomeFull, match="the home of profile `uni` is full: Disk quota"):
        note_again(at(tmp_path), SyncNote(other="aws", paths=("p",)))
